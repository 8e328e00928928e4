// Where the project is to be found, as the release says: no file of the repository names an address.
const VARIABLES = {
  homepage: ['RELEASE_HOMEPAGE', (url) => url],
  bugs: ['RELEASE_BUGS', (url) => ({ url })],
  repository: ['RELEASE_REPOSITORY', (url) => ({ type: 'git', url: `git+${url}` })],
}

/** The fields of package.json whose variables are set, and nothing else. */
export function addressesIn(env) {
  const given = Object.entries(VARIABLES).filter(([, [variable]]) => env[variable])
  return Object.fromEntries(given.map(([field, [variable, written]]) => [field, written(checked(variable, env))]))
}

/** The address of a clone in a build service may contain its credential, which must not be published. */
function checked(variable, env) {
  const url = URL.parse(env[variable])
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return env[variable]
  throw new Error(`${variable} must be an https address without a user or password`)
}
