// Differences between two translations: the words outside their longest common subsequence.

const commonLengths = (one, other) => {
  const table = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      table[i][j] = one[i] === other[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
};

export const words = (text) => text.split(/\s+/).filter(Boolean);

// Return the words of both sides, each flagged if the other side does not have it there.
export const compare = (first, second) => {
  const [one, other] = [words(first), words(second)];
  const table = commonLengths(one, other);
  const sides = [[], []];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      sides[0].push({ word: one[i], differs: false });
      sides[1].push({ word: other[j], differs: false });
      [i, j] = [i + 1, j + 1];
    } else if (j >= other.length || (i < one.length && table[i + 1][j] >= table[i][j + 1])) {
      sides[0].push({ word: one[i], differs: true });
      i += 1;
    } else {
      sides[1].push({ word: other[j], differs: true });
      j += 1;
    }
  }
  return sides;
};
