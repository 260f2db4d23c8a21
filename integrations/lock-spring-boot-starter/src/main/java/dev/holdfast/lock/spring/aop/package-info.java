/**
 * The advice behind {@link dev.holdfast.lock.spring.Locked}: {@link dev.holdfast.lock.spring.aop.LockedAdvisor} is a bean that
 * Spring's proxy creator finds, {@link dev.holdfast.lock.spring.aop.LockedStartUpCheck} refuses what could not work, at start-up.
 * Applications do not call it.
 */
@org.jspecify.annotations.NullMarked
package dev.holdfast.lock.spring.aop;
