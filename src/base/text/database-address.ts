/** The address of a PostgreSQL database, as the setting `databaseUrl` gives it. No error shows any part of it. */

/** `require` encrypts and checks no certificate; the other two check it, `verify-full` with the name of the host. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
export type TlsMode = (typeof TLS_MODES)[number]

export type DatabaseAddress = {
  user: string
  password: string
  /** A name, an address, or the folder of a Unix socket. */
  host: string
  port: number
  database: string
  tls: TlsMode
  /** Files in PEM: certificates that the server is checked against; certificate and key of this client. */
  caFile: string | undefined
  certificateFile: string | undefined
  keyFile: string | undefined
}

const FORM = 'it must be an address such as postgres://user:password@db.example.com:5432/headland?sslmode=verify-full'
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']
const DEFAULT_PORT = 5432

export function parseDatabaseAddress(text: string): DatabaseAddress {
  // With the folder of a socket as a parameter, the place of the host may be empty, as for psql.
  const whole = text.replace(/^(postgres(?:ql)?:\/\/[^/]*@|postgres(?:ql)?:\/\/)\//, '$1localhost/')
  const url = URL.canParse(whole) ? new URL(whole) : undefined
  if (!url || !/^postgres(ql)?:$/.test(url.protocol) || url.hash) throw new Error(FORM)
  for (const name of url.searchParams.keys()) {
    if (!PARAMETERS.includes(name)) throw new Error(`it has a parameter that is not one of ${PARAMETERS.join(', ')}`)
  }
  const { searchParams: given } = url
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decoded)
  if (!user || !database || database.includes('/')) throw new Error(FORM)
  const host = given.get('host') ?? url.hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    user,
    password: password ?? '',
    host: host || 'localhost',
    port: Number(url.port || DEFAULT_PORT),
    database,
    tls: tlsModeOf(given.get('sslmode'), host),
    caFile: given.get('sslrootcert') ?? undefined,
    certificateFile: given.get('sslcert') ?? undefined,
    keyFile: given.get('sslkey') ?? undefined,
  }
}

/** For messages and commands that people read: without the password. */
export function databaseUrlWithoutPassword(address: DatabaseAddress): string {
  const { user, host, port, database, tls, caFile } = address
  const isSocket = host.startsWith('/')
  const parameters = new URLSearchParams()
  if (isSocket) parameters.set('host', host)
  else parameters.set('sslmode', tls)
  if (caFile !== undefined) parameters.set('sslrootcert', caFile)
  const place = isSocket ? `:${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
  const name = `${encodeURIComponent(user)}@${isSocket ? `localhost${place}` : place}/${encodeURIComponent(database)}`
  return `postgres://${name}?${decodeURIComponent(parameters.toString())}`
}

/** On another machine the certificate is checked, unless the address says otherwise. */
function tlsModeOf(given: string | null, host: string): TlsMode {
  const isHere = host.startsWith('/') || /^(localhost|127\.\d+\.\d+\.\d+|::1|)$/.test(host)
  const mode = given ?? (isHere ? 'disable' : 'verify-full')
  const found = TLS_MODES.find((one) => one === mode)
  if (!found) throw new Error(`its sslmode must be one of ${TLS_MODES.join(', ')}`)
  return found
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error('it has an escape that is not valid: write % as %25')
  }
}
