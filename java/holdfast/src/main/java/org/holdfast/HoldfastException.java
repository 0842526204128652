package org.holdfast;

/** What a call failed with: a code for programs, and in the message what was wrong and what is allowed. */
public final class HoldfastException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public static final int INVALID_OPTION = 1;
  public static final int NOT_FOUND = 2;
  public static final int ALREADY_EXISTS = 3;
  public static final int BUSY = 4;
  public static final int NOT_HOLDFAST = 5;
  public static final int NEWER_FORMAT = 6;
  public static final int WRONG_TYPE = 7;
  public static final int CORRUPT = 8;
  public static final int NO_SPACE = 9;
  public static final int READ_ONLY = 10;
  public static final int IO = 11;
  public static final int UNSUPPORTED = 12;
  public static final int TOO_LARGE = 13;
  public static final int VERSION_MISMATCH = 14;
  public static final int CLOSED = 15;

  private final int code;

  /** An argument that native code does not see. */
  static HoldfastException invalid(String what) {
    return new HoldfastException(INVALID_OPTION, "HF_INVALID_OPTION: " + what);
  }

  HoldfastException(int code, String message) {
    super(message);
    this.code = code;
  }

  /** One of the constants of this class: hf_code of holdfast.h. */
  public int code() {
    return code;
  }
}
