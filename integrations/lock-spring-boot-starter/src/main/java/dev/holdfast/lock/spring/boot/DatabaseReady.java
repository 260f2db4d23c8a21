package dev.holdfast.lock.spring.boot;

import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;

/** A bean that exists as soon as the application's migrations have run; lazy, so that only beans that need it wait for them. */
@DependsOnDatabaseInitialization
final class DatabaseReady {}
