/** @file RLNumber.h
 *  Numbers, truth values and the null object, for collections of objects.
 *  Example: examples/objects.c
 *
 *  A number is a signed integer of up to 64 bits or a floating-point number, and never changes. Numbers are equal, and
 *  have the same hash, if their values are, whatever their types: 1 and 1.0 are equal, 0.0 and -0.0 are not.
 *  kRLBooleanTrue and kRLBooleanFalse are the only two truth values: compare handles, or call RLBooleanGetValue(). A
 *  truth value is not equal to a number.
 *
 *  Deliberate differences from CFNumber
 *  ------------------------------------
 *  1. Each RLNumberCreate() returns an object of its own; CF shares one for small integers.
 *  2. 128 is no int8_t and 32768 no int16_t: converting reports the loss. CF says -128 and success.
 *  3. Not-a-number comes after negative integers, as after negative floating-point numbers and in CF's documentation.
 *  4. An integer that is too large for the requested type yields its low bits. A floating-point number is cut to an
 *     integer, at most the nearest of 64 bits, and that to its low bits. Both count as lossy, as in CF, which leaves
 *     other bits. */
#ifndef RUNLOOP_RLNUMBER_H
#define RUNLOOP_RLNUMBER_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A number. */
typedef const struct RLNumber *RLNumberRef;
/** One of the two truth values. */
typedef const struct RLTruth *RLBooleanRef;
/** The object that stands for no object. */
typedef const struct RLNull *RLNullRef;

/** A type of C: one of the constants below. */
typedef RLIndex RLNumberType;
/** The types; the values are CF's. */
enum {
    kRLNumberSInt8Type = 1,      /**< int8_t. */
    kRLNumberSInt16Type = 2,     /**< int16_t. */
    kRLNumberSInt32Type = 3,     /**< int32_t. */
    kRLNumberSInt64Type = 4,     /**< int64_t. */
    kRLNumberFloat32Type = 5,    /**< float. */
    kRLNumberFloat64Type = 6,    /**< double. */
    kRLNumberCharType = 7,       /**< signed char; stored as the first. */
    kRLNumberShortType = 8,      /**< short; stored as the second. */
    kRLNumberIntType = 9,        /**< int; stored as the third. */
    kRLNumberLongType = 10,      /**< long; stored as the fourth. */
    kRLNumberLongLongType = 11,  /**< long long; stored as the fourth. */
    kRLNumberFloatType = 12,     /**< float; stored as the fifth. */
    kRLNumberDoubleType = 13,    /**< double; stored as the sixth. */
    kRLNumberRLIndexType = 14,   /**< RLIndex; stored as the fourth. */
    kRLNumberNSIntegerType = 15, /**< long; stored as the fourth. */
    kRLNumberCGFloatType = 16,   /**< double; stored as the sixth. */
    kRLNumberMaxType = 16        /**< The greatest of these constants. */
};

RL_EXPORT const RLBooleanRef kRLBooleanTrue;  /**< The truth value true. */
RL_EXPORT const RLBooleanRef kRLBooleanFalse; /**< The truth value false. */
/** The only null object: stands for nothing in collections of objects, which take no NULL. Equal to itself alone. */
RL_EXPORT const RLNullRef kRLNull;
RL_EXPORT const RLNumberRef kRLNumberPositiveInfinity; /**< Greater than all other numbers. */
RL_EXPORT const RLNumberRef kRLNumberNegativeInfinity; /**< Less than all other numbers. */
RL_EXPORT const RLNumberRef kRLNumberNaN;              /**< Not a number. */

/** Returns the kind of the null object, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLNullGetTypeID(void);

/** Returns the kind of truth values, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLBooleanGetTypeID(void);

/** Returns 1 for kRLBooleanTrue, else 0. */
RL_EXPORT RLBoolean RLBooleanGetValue(RLBooleanRef boolean);

/** Returns the kind of numbers, to compare with RLGetTypeID(). */
RL_EXPORT RLTypeID RLNumberGetTypeID(void);

/** Creates a number.
 *  @param type      what valuePtr points to.
 *  @param valuePtr  the value; not NULL.
 *  @return the number, or NULL. */
RL_EXPORT RLNumberRef RLNumberCreate(RLAllocatorRef allocator, RLNumberType type, const void *valuePtr);

/** Returns how a number is stored: one of the first six constants. */
RL_EXPORT RLNumberType RLNumberGetType(RLNumberRef number);

/** Returns the size of a number's type in bytes. */
RL_EXPORT RLIndex RLNumberGetByteSize(RLNumberRef number);

/** Returns whether a number is stored as a floating-point number. */
RL_EXPORT RLBoolean RLNumberIsFloatType(RLNumberRef number);

/** Copies the value of a number out, converted to a type.
 *  @param type      the type to convert to.
 *  @param valuePtr  receives the value; not NULL, room for that type.
 *  @return 1 if the value is exactly the number; 0 if something was lost; difference 4 says what was copied. */
RL_EXPORT RLBoolean RLNumberGetValue(RLNumberRef number, RLNumberType type, void *valuePtr);

/** Compares two numbers by value, exactly. Not-a-number equals itself, comes after negative numbers and before all
 *  others; -0.0 comes before 0.0.
 *  @param context  NULL; makes the function an RLComparatorFunction in shape.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan. */
RL_EXPORT RLComparisonResult RLNumberCompare(RLNumberRef number, RLNumberRef otherNumber, void *context);

RL_EXTERN_C_END
#endif
