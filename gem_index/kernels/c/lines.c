/* Inner loop of importing word vectors: lines of decimal numbers to float32. */

#include "lanes.h"

/* The powers of ten that float64 holds exactly. */
static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { MOST_DIGITS = 15, MOST_POWER = 22 }; /* any integer of up to 15 digits is exact in float64 */

/* What is left of the text. */
typedef struct {
    const uint8_t *next, *end;
} Rest;

static inline bool at(Rest rest, uint8_t byte) { return rest.next < rest.end && *rest.next == byte; }

static inline bool at_digit(Rest rest) { return rest.next < rest.end && *rest.next >= '0' && *rest.next <= '9'; }

/* Skips a sign; returns whether it is a minus. */
static inline bool read_sign(Rest *rest) {
    bool minus = at(*rest, '-');
    if (minus || at(*rest, '+')) rest->next++;
    return minus;
}

/* Reads a number into out; false if it is not of the simple form. */
static bool read_number(Rest *rest, float *out) {
    bool negative = read_sign(rest), seen_point = false;
    int64_t mantissa = 0, exponent = 0;
    int digits = 0, places = 0;
    for (; at_digit(*rest) || (at(*rest, '.') && !seen_point); rest->next++) {
        if (*rest->next == '.') {
            seen_point = true;
            continue;
        }
        if (++digits > MOST_DIGITS) return false;
        mantissa = mantissa * 10 + (*rest->next - '0');
        places += seen_point;
    }
    if (digits == 0) return false;
    if (at(*rest, 'e') || at(*rest, 'E')) {
        rest->next++;
        bool down = read_sign(rest);
        const uint8_t *first = rest->next;
        for (; at_digit(*rest) && rest->next - first < 4; rest->next++) exponent = exponent * 10 + (*rest->next - '0');
        if (rest->next == first) return false;
        if (down) exponent = -exponent;
    }
    exponent -= places;
    if (exponent < -MOST_POWER || exponent > MOST_POWER) return false;
    double value = (double)mantissa;
    value = exponent < 0 ? value / POWERS[-exponent] : value * POWERS[exponent];
    *out = (float)(negative ? -value : value);
    return true;
}

/* Parses lines "word v_1 ... v_d", each ended by a line feed; text holds complete lines. Fills words (lines, 2) with the begin
   and end of each line's word, and rows (lines, dimension) with the numbers; returns the number of lines, or -1 if one is not
   of this simple form, or if there are more than lines.

   A number of up to 15 digits whose power of ten is within 10^22 is the quotient or product of two exact float64 numbers,
   hence correctly rounded (Clinger, "How to read floating point numbers accurately", PLDI 1990). Lines of any other form are
   left to the caller. */
int64_t parse_lines(const uint8_t *text, int64_t size, int64_t lines, int64_t dimension, int64_t *words, float *rows) {
    Rest rest = {text, text + size};
    int64_t line = 0;
    for (; rest.next < rest.end; line++) {
        if (line == lines) return -1;
        words[2 * line] = rest.next - text;
        while (rest.next < rest.end && *rest.next != ' ' && *rest.next != '\n') rest.next++;
        words[2 * line + 1] = rest.next - text;
        for (int64_t x = 0; x < dimension; x++) {
            if (!at(rest, ' ')) return -1;
            rest.next++;
            if (!read_number(&rest, rows + line * dimension + x)) return -1;
        }
        while (at(rest, ' ') || at(rest, '\r')) rest.next++;
        if (!at(rest, '\n')) return -1;
        rest.next++;
    }
    return line;
}
