#include "testing.h"

#include "sign.h"

#include <stdlib.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" /* the specification's */

static struct signer *signer_of(const char *secret) {
    unsigned char key[SECRET_LONGEST];
    size_t length;
    char message[200];
    if (!secret_decode(secret, key, &length, message, sizeof message))
        fail_msg("%s: %s", secret, message);
    struct signer *signer = signer_new(key, length);
    assert_non_null(signer);
    return signer;
}

static void assert_signature(struct signer *signer, const char *id, int64_t timestamp,
                             const char *payload, const char *expected) {
    char signature[SIGNATURE_SIZE];
    assert_true(signer_sign(signer, id, timestamp, payload, strlen(payload), signature));
    assert_string_equal(signature, expected);
}

static void test_published_vector(void **state) {
    (void)state;
    struct signer *signer = signer_of(SECRET);
    assert_signature(signer, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}",
                     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    signer_destroy(signer);
}

/* A signer is used again and again: nothing of one message is in the next. */
static void test_again(void **state) {
    (void)state;
    struct signer *signer = signer_of(SECRET),
                  *other = signer_of("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    char first[SIGNATURE_SIZE], second[SIGNATURE_SIZE];
    for (int i = 0; i < 3; i++) {
        assert_signature(signer, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                         "{\"test\": 2432232314}",
                         "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_true(signer_sign(signer, "evt_1", 1, "", 0, first));
        assert_true(signer_sign(other, "evt_1", 1, "", 0, second));
        assert_string_not_equal(first, second);
        assert_true(signer_sign(signer, "evt_1", 2, "", 0, second));
        assert_string_not_equal(first, second);
        assert_true(signer_sign(signer, "evt_1", 1, "\0", 1, second));
        assert_string_not_equal(first, second);
    }
    signer_destroy(signer);
    signer_destroy(other);
    signer_destroy(NULL);
}

static void test_generate(void **state) {
    (void)state;
    char first[SECRET_TEXT_SIZE], second[SECRET_TEXT_SIZE], message[200];
    unsigned char key[SECRET_LONGEST];
    size_t length = 0;
    assert_int_equal(secret_generate(first), LULL_OK);
    assert_int_equal(secret_generate(second), LULL_OK);
    assert_int_equal(strlen(first), 6 + 32);
    assert_string_not_equal(first, second);
    assert_true(secret_decode(first, key, &length, message, sizeof message));
    assert_int_equal(length, SECRET_GENERATED);
}

static void test_decode(void **state) {
    (void)state;
    unsigned char key[SECRET_LONGEST], expected[SECRET_LONGEST];
    size_t length = 0;
    char message[200];
    /* Every length, and with it every padding; OpenSSL's encoder is not involved. */
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", 24},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA==", 25},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBk=", 26},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0"
         "+Pw==",
         64},
    };
    for (size_t i = 0; i < sizeof expected; i++)
        expected[i] = (unsigned char)i;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(secret_decode(rows[i].text, key, &length, message, sizeof message));
        assert_int_equal(length, rows[i].length);
        assert_memory_equal(key, expected, length);
        assert_true(strlen(rows[i].text) < SECRET_TEXT_SIZE);
    }
}

static void test_mistakes(void **state) {
    (void)state;
    static const char base64[] =
        "must be base64 after whsec_, padded with = to a multiple of 4 characters";
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "must begin with whsec_"},
        {"secret", "must begin with whsec_"},
        {"WHSEC_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "must begin with whsec_"},
        {"whsec_", "holds a key of 0 bytes; it must be 24 to 64"},
        {"whsec_AAEC", "holds a key of 3 bytes; it must be 24 to 64"},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRY=", "holds a key of 23 bytes; it must be 24 to 64"},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0"
         "+P0A=",
         "holds a key of 65 bytes; it must be 24 to 64"},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA", base64},   /* no padding */
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGB==", base64}, /* stray bits */
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBl=", base64}, /* the same */
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXG===", base64},
        {"whsec_====", base64},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRY\n", base64},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFR==YX==", base64},
        {"whsec_AAECAwQFBgcICQoLDA0ODxAREhM-FRYX", base64}, /* the other alphabet */
        {" whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "must begin with whsec_"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char key[SECRET_LONGEST];
        size_t length;
        char message[200] = "";
        if (secret_decode(rows[i].text, key, &length, message, sizeof message))
            fail_msg("\"%s\" was taken for a secret", rows[i].text);
        assert_string_equal(message, rows[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vector), cmocka_unit_test(test_again),
        cmocka_unit_test(test_generate),         cmocka_unit_test(test_decode),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
