/** Tests of the checks. */
package dev.holdfast.chaos.check;
