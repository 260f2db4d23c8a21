package dev.holdfast.lock.testkit;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;

/** A test that exists only for a fixture that meets all needs; otherwise it is listed when the contract ends. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@interface TestIf {

    /** What it needs. */
    Need[] value();
}
