package dev.holdfast.lock.spring.boot;

/** A bean that exists as soon as the application's migrations have run; lazy, so that only who asks for it waits for them. */
final class DatabaseReady {}
