import java.nio.charset.StandardCharsets;
import org.holdfast.HoldfastOptions;
import org.holdfast.HoldfastStore;

/** PutAndGet STORE: puts a record, opens the store again and prints it. */
final class PutAndGet {
  public static void main(String[] arguments) {
    try (HoldfastStore store = HoldfastStore.open(arguments[0], new HoldfastOptions())) {
      store.put(bytes("ada"), bytes("1815"));
    }
    try (HoldfastStore store = HoldfastStore.open(arguments[0], new HoldfastOptions())) {
      System.out.println(new String(store.get(bytes("ada")), StandardCharsets.UTF_8));
      store.verify();
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
