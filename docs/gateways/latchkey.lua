-- Asks Latchkey about the credential of a request. Says yes by the status 204 in txn.latchkey_status, and only
-- there; an error in here leaves it unset, and haproxy.cfg refuses whatever is not 204.

local TO_APP = {
  "x-latchkey-token-id",
  "x-latchkey-sub-account-id",
  "x-latchkey-account-id",
  "x-latchkey-token-version",
  "x-latchkey-scopes",
}

local TO_CLIENT = {
  "www-authenticate",
  "x-latchkey-reason",
  "x-latchkey-error",
  "retry-after",
  "ratelimit",
  "ratelimit-policy",
}

local function first(headers, name)
  return headers[name] and headers[name][0]
end

core.register_action("latchkey_verify", { "http-req" }, function(txn)
  local request = txn.http:req_get_headers()
  local answer = core.httpclient():get({
    url = "http://latchkey/api/v1/verify" .. (txn:get_var("txn.latchkey_query") or ""),
    dst = "abns@latchkey-verify",
    headers = {
      -- All of them: Latchkey refuses two, which each reader could read differently.
      ["authorization"] = request["authorization"],
      ["x-forwarded-for"] = request["x-forwarded-for"],
    },
    timeout = 5000,
  })
  for _, name in ipairs(TO_APP) do
    local value = first(answer.headers, name)
    if value then txn.http:req_set_header(name, value) end
  end
  -- HAProxy leaves out what does not fit, and an application takes a token without scopes for one that has them all.
  local sent = txn.http:req_get_headers()
  for _, name in ipairs(TO_APP) do
    if first(sent, name) ~= first(answer.headers, name) then error(name .. " does not fit into the request") end
  end
  for _, name in ipairs(TO_CLIENT) do
    local value = first(answer.headers, name)
    if value then txn:set_var("txn.latchkey_" .. name:gsub("%-", "_"), value) end
  end
  txn:set_var("txn.latchkey_body", answer.body or "")
  txn:set_var("txn.latchkey_status", answer.status)
end)
