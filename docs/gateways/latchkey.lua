-- Asks Latchkey about the credential of a request. Says yes by the status 204 in txn.latchkey_status, and only
-- there; an error in here leaves it unset, and haproxy.cfg refuses whatever is not 204.

local IDENTITY = {
  "x-latchkey-token-id",
  "x-latchkey-sub-account-id",
  "x-latchkey-account-id",
  "x-latchkey-token-version",
}

local function first(headers, name)
  return headers[name] and headers[name][0] or ""
end

core.register_action("latchkey_verify", { "http-req" }, function(txn)
  local answer = core.httpclient():get({
    url = "http://latchkey/api/v1/verify",
    dst = "abns@latchkey-verify",
    -- All of them: Latchkey refuses two, which each reader could read differently.
    headers = { authorization = txn.http:req_get_headers()["authorization"] },
    timeout = 5000,
  })
  for _, name in ipairs(IDENTITY) do
    txn.http:req_set_header(name, first(answer.headers, name))
  end
  txn:set_var("txn.latchkey_challenge", first(answer.headers, "www-authenticate"))
  txn:set_var("txn.latchkey_reason", first(answer.headers, "x-latchkey-reason"))
  txn:set_var("txn.latchkey_retry_after", first(answer.headers, "retry-after"))
  txn:set_var("txn.latchkey_body", answer.body or "")
  txn:set_var("txn.latchkey_status", answer.status)
end)
