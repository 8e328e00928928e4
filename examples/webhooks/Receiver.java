// A receiver of webhooks. It verifies the signature, refuses what is older than five minutes, and answers before it works.
// The secret is in SECRET, the port in PORT.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
  static final byte[] KEY = Base64.getDecoder().decode(System.getenv("SECRET").replaceFirst("^whsec_", ""));

  static boolean isGenuine(String id, String at, String signatures, byte[] body) throws Exception {
    if (id == null || at == null || signatures == null || !at.matches("\\d{1,12}")) return false;
    if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(at)) >= 300) return false;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
    mac.update((id + "." + at + ".").getBytes());
    byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
    return Stream.of(signatures.split(" ")).anyMatch(each -> MessageDigest.isEqual(expected, each.getBytes()));
  }

  public static void main(String[] args) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
    server.createContext("/", exchange -> {
      var headers = exchange.getRequestHeaders();
      byte[] body = exchange.getRequestBody().readAllBytes();
      try {
        boolean isOurs = isGenuine(headers.getFirst("webhook-id"), headers.getFirst("webhook-timestamp"),
            headers.getFirst("webhook-signature"), body);
        exchange.sendResponseHeaders(isOurs ? 204 : 400, -1);
        if (isOurs) System.out.println(new String(body));
      } catch (Exception error) {
        exchange.sendResponseHeaders(500, -1);
      }
      exchange.close();
    });
    server.start();
  }
}
