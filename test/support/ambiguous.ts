// Requests that two readers of one connection could take apart differently, as bytes: each is followed by a request that a
// front would not have seen.

export const TOKEN = '/api/v1/apiClient/token'
export const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
export const TYPE = 'Content-Type: application/json\r\n'

/** `KEY` is the caller's own: what is refused is not refused for want of one. */
export const post = (headers: string, body: string, version = '1.1') =>
  `POST ${TOKEN} HTTP/${version}\r\nHost: x\r\nKEY${TYPE}${headers}\r\n${body}${SMUGGLED}`
export const chunks = (body: string) => post('Transfer-Encoding: chunked\r\n', body)
export const get = (headers: string, line = `GET ${TOKEN} HTTP/1.1`) =>
  `${line}\r\nHost: x\r\nKEY${headers}\r\n${SMUGGLED}`
const EMPTY = '0\r\n\r\n'

export const refused: Readonly<Record<string, string>> = {
  // Two targets.
  'a fragment in the target': get('', `GET ${TOKEN}#?page=1 HTTP/1.1`),
  // Two lengths.
  'a length and chunks': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', EMPTY),
  'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', EMPTY),
  'chunks and a length of 0': post('Transfer-Encoding: chunked\r\nContent-Length: 0\r\n', EMPTY),
  'an empty coding and a length': post('Transfer-Encoding:\r\nContent-Length: 2\r\n', '{}'),
  'a folded coding and a length': post('Transfer-Encoding:\r\n chunked\r\nContent-Length: 2\r\n', '{}'),
  'the same length twice': post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
  'two different lengths': post('Content-Length: 2\r\nContent-Length: 0\r\n', '{}'),
  'two lengths in other letters': post('Content-Length: 0\r\ncontent-length: 2\r\n', '{}'),
  // Lengths that are no number.
  'a list of lengths': post('Content-Length: 2, 2\r\n', '{}'),
  'a length with a plus': post('Content-Length: +2\r\n', '{}'),
  'a length with a minus': post('Content-Length: -2\r\n', '{}'),
  'a length with a minus, of nothing': post('Content-Length: -0\r\n', ''),
  'an empty length': post('Content-Length: \r\n', '{}'),
  'a length in two parts': post('Content-Length: 0 2\r\n', '{}'),
  'a length in hexadecimal': post('Content-Length: 0x2\r\n', '{}'),
  'a length with a fraction': post('Content-Length: 2.0\r\n', '{}'),
  'a length with an exponent': post('Content-Length: 2e0\r\n', '{}'),
  'a length past all counting': post('Content-Length: 18446744073709551618\r\n', '{}'),
  'a length in quotes': post('Content-Length: "2"\r\n', '{}'),
  'a length behind a vertical tab': post('Content-Length: \x0b2\r\n', '{}'),
  // Transfer codings.
  'no coding at all': post('Transfer-Encoding: identity\r\n', '{}'),
  'chunks that are not last': post('Transfer-Encoding: chunked, identity\r\n', EMPTY),
  'chunks after identity': post('Transfer-Encoding: identity, chunked\r\n', EMPTY),
  'chunks of something packed': post('Transfer-Encoding: gzip, chunked\r\n', EMPTY),
  'chunks in two headers': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', EMPTY),
  'chunks and identity in two headers': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', EMPTY),
  'chunks of chunks': post('Transfer-Encoding: chunked, chunked\r\n', EMPTY),
  'a coding with a letter more': post('Transfer-Encoding: xchunked\r\n', EMPTY),
  'a coding with a letter less': post('Transfer-Encoding: chunke\r\n', EMPTY),
  'a coding in quotes': post('Transfer-Encoding: "chunked"\r\n', EMPTY),
  'a coding behind a vertical tab': post('Transfer-Encoding: \x0bchunked\r\n', EMPTY),
  'a coding behind a byte outside ASCII': post('Transfer-Encoding: \xa0chunked\r\n', EMPTY),
  'a coding with a parameter': post('Transfer-Encoding: chunked;q=1\r\n', EMPTY),
  'an empty coding': post('Transfer-Encoding:\r\n', EMPTY),
  'a space before the colon': post('Transfer-Encoding : chunked\r\n', EMPTY),
  'a tab before the colon': post('Transfer-Encoding\t: chunked\r\n', EMPTY),
  'a space before the name': post(' Transfer-Encoding: chunked\r\n', EMPTY),
  'chunks in HTTP/1.0': post('Transfer-Encoding: chunked\r\n', EMPTY, '1.0'),
  // Chunks.
  'a chunk size with a minus': chunks('-1\r\n{}\r\n0\r\n\r\n'),
  'a chunk size with a plus': chunks('+2\r\n{}\r\n0\r\n\r\n'),
  'a chunk size with 0x': chunks('0x2\r\n{}\r\n0\r\n\r\n'),
  'a chunk size with a space after it': chunks('2 \r\n{}\r\n0\r\n\r\n'),
  'a chunk size with a space before it': chunks(' 2\r\n{}\r\n0\r\n\r\n'),
  'an empty chunk size': chunks('\r\n{}\r\n0\r\n\r\n'),
  'a chunk size of letters': chunks('zz\r\n{}\r\n0\r\n\r\n'),
  'a chunk size past all counting': chunks('10000000000000002\r\n{}\r\n0\r\n\r\n'),
  'a chunk size that ends in a line feed': chunks('2\n{}\r\n0\r\n\r\n'),
  'a chunk size that ends in a carriage return': chunks('2\r{}\r\n0\r\n\r\n'),
  'a chunk extension that ends in a line feed': chunks('2;a\n{}\r\n0\r\n\r\n'),
  'a chunk extension with a carriage return': chunks('2;a\rb\r\n{}\r\n0\r\n\r\n'),
  'a chunk longer than it says': chunks('2\r\n{}XX\r\n0\r\n\r\n'),
  'a chunk without its end of line': chunks('2\r\n{}0\r\n\r\n'),
  'a chunk that ends in a line feed': chunks('2\r\n{}\n0\r\n\r\n'),
  'a last chunk that ends in line feeds': chunks('2\r\n{}\r\n0\n\n'),
  'a last line that is a line feed': chunks('2\r\n{}\r\n0\r\n\n'),
  'a length after the last chunk': chunks('2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n'),
  'a coding after the last chunk': chunks('2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n'),
  'a trailer with a space in its name': chunks('2\r\n{}\r\n0\r\nX Y: 1\r\n\r\n'),
  // Lines and names.
  'a folded header': get('X-A: b\r\n c\r\n'),
  'a header folded by a tab': get('X-A: b\r\n\tc\r\n'),
  'a fold before the first header': `GET ${TOKEN} HTTP/1.1\r\n Host: x\r\n\r\n${SMUGGLED}`,
  'line feeds alone': `GET ${TOKEN} HTTP/1.1\nHost: x\n\n${SMUGGLED}`,
  'a line feed after the first line': `GET ${TOKEN} HTTP/1.1\nHost: x\r\n\r\n${SMUGGLED}`,
  'a line feed after a header': get('X-A: b\nX-B: c\r\n'),
  'a line feed that ends the headers': `GET ${TOKEN} HTTP/1.1\r\nHost: x\r\n\n${SMUGGLED}`,
  'a carriage return in a header': get('X-A: b\rX-B: c\r\n'),
  'a carriage return too many at the end': `GET ${TOKEN} HTTP/1.1\r\nHost: x\r\n\r\r\n${SMUGGLED}`,
  'a NUL in a value': get('X-A: a\0b\r\n'),
  'a control character in a value': get('X-A: a\x01b\r\n'),
  'a NUL in a name': get('X\0A: a\r\n'),
  'a byte outside ASCII in a name': get('X\xe9: a\r\n'),
  'a space in a name': get('X A: a\r\n'),
  'a header without a colon': get('XA\r\n'),
  'a header without a name': get(': a\r\n'),
  // The first line.
  'HTTP/0.9': `GET ${TOKEN}\r\n\r\n${SMUGGLED}`,
  'HTTP/1.2': get('', `GET ${TOKEN} HTTP/1.2`),
  'HTTP/1.10': get('', `GET ${TOKEN} HTTP/1.10`),
  'HTTP/2.0': get('', `GET ${TOKEN} HTTP/2.0`),
  'the beginning of HTTP/2': `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${SMUGGLED}`,
  'a version in small letters': get('', `GET ${TOKEN} http/1.1`),
  'a space in the target': get('', `GET ${TOKEN}?a b HTTP/1.1`),
  'a space after the version': get('', `GET ${TOKEN} HTTP/1.1 `),
  'a tab for a space': get('', `GET\t${TOKEN} HTTP/1.1`),
  'a method in small letters': get('', `get ${TOKEN} HTTP/1.1`),
  'a method that nobody knows': get('', `GETT ${TOKEN} HTTP/1.1`),
  'a NUL in the target': get('', `GET ${TOKEN}/\0 HTTP/1.1`),
  'a byte outside ASCII in the target': get('', `GET ${TOKEN}/\xe9 HTTP/1.1`),
  'a target with a host of its own': get('', `GET http://y${TOKEN} HTTP/1.1`),
  'a target that is a host': get('', 'GET y:80 HTTP/1.1'),
  'a target that is a star': get('', 'OPTIONS * HTTP/1.1'),
  'a tunnel': get('', 'CONNECT y:80 HTTP/1.1'),
  // Hosts and types.
  'no host': `GET ${TOKEN} HTTP/1.1\r\nKEY\r\n${SMUGGLED}`,
  'two hosts': get('Host: y\r\n'),
  'the same host twice': get('host: x\r\n'),
  'two content types': post('Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
}
