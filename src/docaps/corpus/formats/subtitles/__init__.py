"""Subtitles: SRT, WebVTT and ASS/SSA files, whose sentences run over several cues."""
