/* Inner loops over the bytes of words: finding and numbering them, hashing, and looking them up. */

#include "lanes.h"

enum { LINE_FEED = 10, UNDERSCORE = 95 };

/* Whether a byte belongs to a word: any but a line feed in split texts, [a-z0-9_] in other texts. */
static inline bool is_word_byte(uint8_t byte, bool split) {
    if (split) return byte != LINE_FEED;
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == UNDERSCORE;
}

static const uint64_t FNV_START = 14695981039346656037u, FNV_PRIME = 1099511628211u; /* FNV-1a, 64 bits */

/* Finds the words of texts and numbers them in the order of first appearance.

   text holds all texts, concatenated and lower-case; starts (texts + 1,) the begin of each. split (texts,) tells whether a
   text is already split: its words are its lines. Otherwise its words are runs of [a-z0-9_] with at least one letter or
   digit. table (places,), of a power of two of places, holds -1 everywhere. Filled are ids (tokens,) with the numbers of the
   texts' words, offsets (texts + 1,) with the begin of each text in ids, and words (count, 2) with the begin and end of each
   distinct word in text. Returns the number of distinct words; -1 if they would fill more than half of the table. */
int64_t number_words(const uint8_t *text, const int64_t *starts, int64_t texts, const bool *split, int32_t *table,
                     int64_t places, int32_t *ids, int64_t *offsets, int64_t *words) {
    int64_t count = 0, tokens = 0;
    offsets[0] = 0;
    for (int64_t s = 0; s < texts; s++) {
        int64_t position = starts[s], end = starts[s + 1];
        while (position < end) {
            if (!is_word_byte(text[position], split[s])) {
                position++;
                continue;
            }
            int64_t begin = position, underscores = 0;
            uint64_t key = FNV_START;
            for (; position < end && is_word_byte(text[position], split[s]); position++) {
                key = (key ^ text[position]) * FNV_PRIME;
                underscores += text[position] == UNDERSCORE;
            }
            int64_t length = position - begin;
            if (underscores == length) continue;
            int64_t place = (int64_t)((key ^ (key >> 32)) & (uint64_t)(places - 1));
            int32_t word;
            for (;;) {
                word = table[place];
                if (word < 0) {
                    if (2 * count >= places) return -1;
                    table[place] = word = (int32_t)count;
                    words[2 * count] = begin;
                    words[2 * count + 1] = position;
                    count++;
                    break;
                }
                int64_t known = words[2 * word];
                if (words[2 * word + 1] - known == length && memcmp(text + known, text + begin, length) == 0) break;
                place = (place + 1) & (places - 1);
            }
            ids[tokens++] = word;
        }
        offsets[s + 1] = tokens;
    }
    return count;
}

/* Fills out (count,) with the hash of each word: word i is text[offsets[i]:offsets[i + 1] - 1]. */
void hash_words(const uint8_t *text, const int64_t *offsets, int64_t count, uint64_t *out) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t key = FNV_START;
        for (int64_t x = offsets[i]; x < offsets[i + 1] - 1; x++) key = (key ^ text[x]) * FNV_PRIME;
        out[i] = key;
    }
}

/* Fills out (count,) with the row of each wanted word, -1 if the vocabulary does not hold it.

   Wanted are words in the form of hash_words, with their hashes. The vocabulary's words (text, offsets) have the same form;
   keys (words,) are their hashes in ascending order, and rows the row of each; among equal hashes rows ascend. */
void find_words(const uint8_t *wanted, const int64_t *wanted_offsets, const uint64_t *wanted_keys, int64_t count,
                const uint8_t *text, const int64_t *offsets, const uint64_t *keys, const int64_t *rows, int64_t words,
                int64_t *out) {
    for (int64_t i = 0; i < count; i++) {
        int64_t low = 0, high = words, begin = wanted_offsets[i], length = wanted_offsets[i + 1] - begin;
        out[i] = -1;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (keys[middle] < wanted_keys[i])
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < words && keys[low] == wanted_keys[i]; low++) {
            int64_t row = rows[low];
            if (offsets[row + 1] - offsets[row] != length) continue;
            if (memcmp(text + offsets[row], wanted + begin, length - 1) == 0) {
                out[i] = row;
                break;
            }
        }
    }
}

static inline bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; } /* a character of UTF-8 */

/* Adds a byte to a 32-bit FNV-1a hash, as a signed number, as fastText does. */
static inline uint32_t hashed(uint32_t key, uint8_t byte) { return (key ^ (uint32_t)(int8_t)byte) * 16777619u; }

/* Fills out with the buckets of the words' n-grams, word by word, and counts (words,) with how many each has; returns how many
   there are.

   An n-gram is a run of shortest to longest characters of a word (which includes its boundary marks); a single mark is not an
   n-gram. Its bucket is its hash modulo buckets. Word i is text[offsets[i]:offsets[i + 1]], in UTF-8; out has room for (bytes
   of a word) x (longest - shortest + 1) entries for every word. */
int64_t hash_ngrams(const uint8_t *text, const int64_t *offsets, int64_t words, int64_t shortest, int64_t longest,
                    int64_t buckets, int64_t *out, int64_t *counts) {
    int64_t filled = 0;
    for (int64_t word = 0; word < words; word++) {
        int64_t begin = offsets[word], end = offsets[word + 1], before = filled;
        for (int64_t first = begin; first < end; first++) {
            if (continues(text[first])) continue;
            int64_t last = first;
            uint32_t key = 2166136261u;
            for (int64_t characters = 1; last < end && characters <= longest; characters++) {
                key = hashed(key, text[last++]);
                while (last < end && continues(text[last])) key = hashed(key, text[last++]);
                bool mark = characters == 1 && (first == begin || last == end);
                if (characters >= shortest && !mark) out[filled++] = (int64_t)key % buckets;
            }
        }
        counts[word] = filled - before;
    }
    return filled;
}
