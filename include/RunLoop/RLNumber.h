/** @file RLNumber.h
 *  Numbers, truth values and the null object, for collections of objects.
 *
 *  A number is a signed integer of up to 64 bits or a floating-point number, and never changes. Numbers are equal,
 *  and have the same hash, if their values are, whatever their types: 1 and 1.0 are equal. kRLBooleanTrue and
 *  kRLBooleanFalse are the only two truth values: compare handles, or ask RLBooleanGetValue(). A truth value is
 *  not equal to a number.
 *
 *  Deliberate differences from CFNumber
 *  ------------------------------------
 *  1. There is one object per RLNumberCreate(); CF hands out the same one for small integers.
 *  2. 128 is no int8_t and 32768 no int16_t: converting tells that something is lost. CF says -128 and all is well.
 *  3. Not-a-number comes behind negative integers, as behind negative floating-point numbers and in CF's documentation.
 *  4. An integer that is too large for the type that is asked for gives its low bits, a floating-point number the
 *     nearest 64-bit integer. Both are told as lossy; CF tells so, too, but leaves other bits behind. */
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

/** Types of C: one of the constants below. */
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

/** The truth value true. */
RL_EXPORT const RLBooleanRef kRLBooleanTrue;
/** The truth value false. */
RL_EXPORT const RLBooleanRef kRLBooleanFalse;
/** The only null object: stands for nothing in collections of objects, which take no NULL. Equal to itself alone. */
RL_EXPORT const RLNullRef kRLNull;
/** Greater than all other numbers. */
RL_EXPORT const RLNumberRef kRLNumberPositiveInfinity;
/** Less than all other numbers. */
RL_EXPORT const RLNumberRef kRLNumberNegativeInfinity;
/** Not a number. */
RL_EXPORT const RLNumberRef kRLNumberNaN;

/** Tells the kind of the null object, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLTypeID RLNullGetTypeID(void);

/** Tells the kind of truth values, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLTypeID RLBooleanGetTypeID(void);

/** Tells which of the two a truth value is.
 *  @param boolean  not NULL.
 *  @return 1 for kRLBooleanTrue, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLBoolean RLBooleanGetValue(RLBooleanRef boolean);

/** Tells the kind of numbers, to compare with RLGetTypeID().
 *  @return the kind; the same for the life of the process.
 *  Ownership: none.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: none.
 *  Cost: O(1).  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLTypeID RLNumberGetTypeID(void);

/** Makes a number.
 *  @param allocator  NULL.
 *  @param type       what valuePtr points to.
 *  @param valuePtr   the value; not NULL.
 *  @return the number, or NULL.
 *  Ownership: Create rule.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL with errno ENOMEM; a NULL valuePtr or an unknown type is reported and gives NULL.
 *  Cost: O(1), one allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLNumberRef RLNumberCreate(RLAllocatorRef allocator, RLNumberType type, const void *valuePtr);

/** Tells how a number is stored.
 *  @param number  not NULL.
 *  @return one of the first six constants, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLNumberType RLNumberGetType(RLNumberRef number);

/** Tells the size of a number's type in bytes.
 *  @param number  not NULL.
 *  @return the size, or 0 on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLIndex RLNumberGetByteSize(RLNumberRef number);

/** Tells whether a number is stored as a floating-point number.
 *  @param number  not NULL.
 *  @return 1 if it is, else 0.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives 0.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLBoolean RLNumberIsFloatType(RLNumberRef number);

/** Copies the value of a number out, as a type that may be another than the one it is stored as.
 *  @param number    not NULL.
 *  @param type      the type to convert to.
 *  @param valuePtr  receives the value; not NULL, room for that type.
 *  @return 1 if the value is exactly the number; 0 if something was lost: what comes nearest has been copied.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: a NULL argument, another kind of object or an unknown type is reported and gives 0; nothing is copied.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLBoolean RLNumberGetValue(RLNumberRef number, RLNumberType type, void *valuePtr);

/** Compares two numbers by value, exactly.
 *  Not-a-number equals itself, comes behind negative numbers and before all others; -0.0 comes before 0.0.
 *  @param number       not NULL.
 *  @param otherNumber  not NULL.
 *  @param context      NULL. Here so that the function is an RLComparatorFunction in shape.
 *  @return kRLCompareLessThan, kRLCompareEqualTo or kRLCompareGreaterThan; kRLCompareEqualTo on a mistake.
 *  Ownership: none changes.  Thread: any.  Re-entrancy: allowed in callbacks.
 *  Errors: NULL or another kind of object is reported and gives kRLCompareEqualTo.
 *  Cost: O(1), no allocation.  Since: 0.1.  Example: examples/objects.c */
RL_EXPORT RLComparisonResult RLNumberCompare(RLNumberRef number, RLNumberRef otherNumber, void *context);

RL_EXTERN_C_END
#endif
