# A receiver of webhooks. It verifies the signature, refuses what is older than five minutes, and answers before it works.
# The secret is in SECRET, the port in PORT.
# Not run by a test.
require "base64"
require "json"
require "openssl"
require "webrick"

KEY = Base64.decode64(ENV.fetch("SECRET").delete_prefix("whsec_"))

def genuine?(request)
  at = request["webhook-timestamp"].to_i
  return false unless (Time.now.to_i - at).abs < 300
  signed = "#{request["webhook-id"]}.#{at}.#{request.body}"
  expected = "v1," + Base64.strict_encode64(OpenSSL::HMAC.digest("SHA256", KEY, signed))
  request["webhook-signature"].to_s.split(" ").any? { |each| OpenSSL.secure_compare(expected, each) }
end

server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ENV.fetch("PORT").to_i)
server.mount_proc("/") do |request, response|
  response.status = genuine?(request) ? 204 : 400
  puts JSON.parse(request.body)["type"] if response.status == 204
end
server.start
