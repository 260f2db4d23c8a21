/** Tests of the harness, and the smoke run. */
package dev.holdfast.chaos;
