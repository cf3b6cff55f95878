"""Exchange: models of other programs become run directories, and runs become models of other programs.

vocabulary_rows.py       the entries of a published vocabulary, in the order of ours
hugging_face.py          folders of Hugging Face MarianMT models; marian_weights.py has their weights
marian.py                original Marian models; marian_files.py reads their files
hub.py                   models by name on the Hugging Face hub
importing.py             a model that was read, as a run directory
exporting.py             a run, as far as other programs can compute it
hugging_face_export.py   ... as a folder of Hugging Face
ctranslate.py            ... as a model of CTranslate2
"""
