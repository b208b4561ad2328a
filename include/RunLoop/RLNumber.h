/** @file RLNumber.h
 *  Numbers, truth values and the null object, for collections of objects.
 *  Example: examples/objects.c
 *
 *  A number is a signed integer of up to 64 bits or a floating-point number, and never changes. Numbers are equal, and
 *  have the same hash, if their values are equal, whatever their types: 1 and 1.0 are equal, 0.0 and -0.0 are not.
 *  kRLBooleanTrue and kRLBooleanFalse are the only two truth values: compare handles, or call RLBooleanGetValue(). A
 *  truth value is not equal to any number.
 *
 *  Deliberate differences from CFNumber
 *  ------------------------------------
 *  1. Each RLNumberCreate() returns a new object of the type asked for; CF shares one object for equal small integers,
 *     of type int32_t, and for infinities and not-a-number, of type double.
 *  2. Converting 128 to int8_t, or 32768 to int16_t, reports the loss. CF converts 128 to -128 and reports success.
 *  3. Not-a-number comes after negative integers, as after negative floating-point numbers and in CF's documentation.
 *  4. An integer that is too large for the requested type yields its low bits. A floating-point number is truncated to
 *     an integer, clamped to 64 bits, and then reduced to its low bits. Both count as lossy, as in CF, which yields
 *     other bits.
 *  5. Converting not-a-number to float reports success. CF yields the same value, but reports a loss. */
#ifndef RUNLOOP_RLNUMBER_H
#define RUNLOOP_RLNUMBER_H
#include <RunLoop/RLBase.h>
RL_EXTERN_C_BEGIN

/** A number. */
typedef const struct RLNumber *RLNumberRef;
/** One of the two truth values. */
typedef const struct RLTruth *RLBooleanRef;
/** The type of kRLNull, the object that stands for no object. */
typedef const struct RLNull *RLNullRef;

/** A C type: one of the constants below. */
typedef RLIndex RLNumberType;
/** The number types; the values are those of CF. */
enum {
    kRLNumberSInt8Type = 1,      /**< int8_t. */
    kRLNumberSInt16Type = 2,     /**< int16_t. */
    kRLNumberSInt32Type = 3,     /**< int32_t. */
    kRLNumberSInt64Type = 4,     /**< int64_t. */
    kRLNumberFloat32Type = 5,    /**< float. */
    kRLNumberFloat64Type = 6,    /**< double. */
    kRLNumberCharType = 7,       /**< signed char; stored as kRLNumberSInt8Type. */
    kRLNumberShortType = 8,      /**< short; stored as kRLNumberSInt16Type. */
    kRLNumberIntType = 9,        /**< int; stored as kRLNumberSInt32Type. */
    kRLNumberLongType = 10,      /**< long; stored as kRLNumberSInt64Type. */
    kRLNumberLongLongType = 11,  /**< long long; stored as kRLNumberSInt64Type. */
    kRLNumberFloatType = 12,     /**< float; stored as kRLNumberFloat32Type. */
    kRLNumberDoubleType = 13,    /**< double; stored as kRLNumberFloat64Type. */
    kRLNumberRLIndexType = 14,   /**< RLIndex; stored as kRLNumberSInt64Type. */
    kRLNumberNSIntegerType = 15, /**< long; stored as kRLNumberSInt64Type. */
    kRLNumberCGFloatType = 16,   /**< double; stored as kRLNumberFloat64Type. */
    kRLNumberMaxType = 16        /**< The greatest of these constants. */
};

RL_EXPORT const RLBooleanRef kRLBooleanTrue;  /**< The truth value true. */
RL_EXPORT const RLBooleanRef kRLBooleanFalse; /**< The truth value false. */
/** The only null object: stands for no object in collections of objects, which do not accept NULL. It is equal only to
 *  itself. */
RL_EXPORT const RLNullRef kRLNull;
RL_EXPORT const RLNumberRef kRLNumberPositiveInfinity; /**< Greater than all other numbers. */
RL_EXPORT const RLNumberRef kRLNumberNegativeInfinity; /**< Less than all other numbers. */
RL_EXPORT const RLNumberRef kRLNumberNaN;              /**< Not a number. */

/** Returns the type ID of the null object, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLNullGetTypeID(void);

/** Returns the type ID of truth values, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLBooleanGetTypeID(void);

/** Returns 1 for kRLBooleanTrue, else 0. */
RL_EXPORT RLBoolean RLBooleanGetValue(RLBooleanRef boolean);

/** Returns the type ID of numbers, for comparison with RLGetTypeID(). */
RL_EXPORT RLTypeID RLNumberGetTypeID(void);

/** Creates a number.
 *  @param type      the type of the value to which valuePtr points.
 *  @param valuePtr  the value; not NULL.
 *  @return the number, or NULL. */
RL_EXPORT RLNumberRef RLNumberCreate(RLAllocatorRef allocator, RLNumberType type, const void *valuePtr);

/** Returns how a number is stored: one of the first six constants. */
RL_EXPORT RLNumberType RLNumberGetType(RLNumberRef number);

/** Returns the size of a number's type in bytes. */
RL_EXPORT RLIndex RLNumberGetByteSize(RLNumberRef number);

/** Returns whether a number is stored as a floating-point number. */
RL_EXPORT RLBoolean RLNumberIsFloatType(RLNumberRef number);

/** Copies the value of a number, converted to a type.
 *  @param type      the type to convert to.
 *  @param valuePtr  receives the value; not NULL, room for that type.
 *  @return 1 if the value was converted exactly; 0 if something was lost: difference 4 describes what is copied
 *  then. */
RL_EXPORT RLBoolean RLNumberGetValue(RLNumberRef number, RLNumberType type, void *valuePtr);

/** Compares two numbers by value, exactly. Not-a-number equals itself, and orders after negative numbers and before all
 *  others; -0.0 orders before 0.0.
 *  @param context  NULL; gives the function the form of an RLComparatorFunction.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan. */
RL_EXPORT RLComparisonResult RLNumberCompare(RLNumberRef number, RLNumberRef otherNumber, void *context);

RL_EXTERN_C_END
#endif
