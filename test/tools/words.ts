// Paths that scanners try: files that get left about, doors of other software, and ways around our own.
const FILES = [
  ...[
    ...['.env', '.git/config', '.git/HEAD', '.gitignore', '.npmrc', '.htaccess', '.htpasswd', '.DS_Store'],
    ...['.well-known/security.txt'],
  ],
  ...[
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'node_modules/fastify/package.json',
    'README.md',
    'SECURITY.md',
  ],
  ...[
    ...['src/main.ts', 'src/config.ts', 'bin/latchkey.mjs', 'data/latchkey.db', 'latchkey.db', 'latchkey.db-wal'],
    ...['data/master.key'],
  ],
  ...[
    ...['master.key', 'backup.zip', 'backup.sql', 'dump.sql', 'db.sqlite', 'id_rsa', 'config.json', 'config.yml'],
    ...['docker-compose.yml'],
  ],
  ...[
    ...['Dockerfile', 'robots.txt', 'sitemap.xml', 'favicon.ico', 'crossdomain.xml', 'server-status', 'server-info'],
    ...['phpinfo.php'],
  ],
]
const DOORS = [
  ...[
    ...['admin', 'administrator', 'login', 'signin', 'debug', 'test', 'dev', 'staging', 'internal', 'private'],
    ...['console', 'console/'],
  ],
  ...[
    ...['manage', 'management', 'actuator', 'actuator/env', 'actuator/heapdump', 'graphql', 'graphiql', 'swagger'],
    ...['swagger.json'],
  ],
  ...[
    ...['swagger-ui.html', 'api-docs', 'v1', 'v2', 'wp-admin', 'wp-login.php', 'cgi-bin/', 'phpmyadmin', 'jenkins'],
    ...['solr', 'status'],
  ],
  ...[
    ...['health', 'healthz', 'readyz', 'livez', 'metrics', 'prometheus', 'trace', 'info', 'env', 'heapdump'],
    ...['openapi.json', 'docs', 'docs/'],
  ],
  ...[
    ...['docs/json', 'docs/yaml', 'docs/static/../../package.json', 'json/version', 'json/list', 'inspector'],
    ...['shutdown', 'restart'],
  ],
]
const API = [
  ...['', 'v1', 'v1/apiClient', 'v1/apiClient/token', 'v1/apiClient/key', 'v1/apiClient/account'],
  ...['v1/apiClient/admin', 'v1/admin'],
].flatMap((path) =>
  [
    path,
    `${path}/`,
    `${path}?debug=1`,
    `${path};a=b`,
    `${path}.json`,
    `${path}/..`,
    `${path}%00`,
    `${path}%2e%2e%2f`,
  ].map((each) => `api/${each}`),
)
const AROUND = [
  '..',
  '../',
  '../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '%2e%2e/%2e%2e/etc/passwd',
  '....//....//etc/passwd',
].flatMap((path) => ['', 'console/', 'console/assets/', 'docs/', 'docs/static/'].map((folder) => folder + path))
const COPIES = FILES.flatMap((file) => ['~', '.bak', '.old', '.swp', '.orig'].map((end) => file + end))

export const WORDS = [...new Set([...FILES, ...DOORS, ...API, ...AROUND, ...COPIES])]
