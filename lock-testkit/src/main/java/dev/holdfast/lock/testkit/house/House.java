package dev.holdfast.lock.testkit.house;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** The test is one of a hostile house. Ordinary runs have it as well, unless it has the tag {@value #SLOW}. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@Tag(House.TAG)
@ExtendWith(HouseReport.class)
public @interface House {

    /** The tag of all these tests. */
    String TAG = "house";

    /** The tag of those that only {@code bin/verify --house} runs. */
    String SLOW = "house-slow";

    /**
     * Returns which house it is.
     *
     * @return the kind, a colon and a word, as in {@code verification/houses}
     */
    String value();

    /**
     * Returns the store.
     *
     * @return its name; by default that of the contract's fixture or else of the module
     */
    String store() default "";
}
