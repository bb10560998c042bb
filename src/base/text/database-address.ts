/** The address of a PostgreSQL database, as the setting `databaseUrl` gives it. No error shows any part of it. */

/** `require` encrypts and checks no certificate; the other two check it, `verify-full` with the name of the host. */
const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
export type TlsMode = (typeof TLS_MODES)[number]

/** One server: a name, an address, or the folder of a Unix socket. */
export type DatabaseHost = { host: string; port: number }

export type DatabaseAddress = {
  user: string
  password: string
  /** One or more, of which the one that takes writes is used. */
  hosts: readonly DatabaseHost[]
  database: string
  tls: TlsMode
  /** Files in PEM: certificates that the server is checked against; certificate and key of this client. */
  caFile: string | undefined
  certificateFile: string | undefined
  keyFile: string | undefined
}

const FORM = 'it must be an address such as postgres://user:password@db.example.com:5432/headland?sslmode=verify-full'
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'target_session_attrs']
/** What every connection asks for, so an address that other clients share may name it. */
const TARGETS = ['read-write', 'primary']
const DEFAULT_PORT = 5432
const MAX_HOSTS = 8

export function parseDatabaseAddress(text: string): DatabaseAddress {
  const [first, ...others] = urlsOf(text)
  if (!first || others.length >= MAX_HOSTS) throw new Error(FORM)
  const { searchParams: given } = first
  for (const name of given.keys()) {
    if (!PARAMETERS.includes(name)) throw new Error(`it has a parameter that is not one of ${PARAMETERS.join(', ')}`)
  }
  const [user, password, database] = [first.username, first.password, first.pathname.slice(1)].map(decoded)
  if (!user || !database || database.includes('/')) throw new Error(FORM)
  const target = given.get('target_session_attrs')
  if (target !== null && !TARGETS.includes(target))
    throw new Error(`its target_session_attrs must be one of ${TARGETS.join(', ')}`)
  const hosts = [first, ...others].map(({ hostname, port }) => ({
    host: (given.get('host') ?? hostname.replace(/^\[(.*)\]$/, '$1')) || 'localhost',
    port: Number(port || DEFAULT_PORT),
  }))
  return {
    user,
    password: password ?? '',
    hosts,
    database,
    tls: tlsModeOf(given.get('sslmode'), hosts),
    caFile: given.get('sslrootcert') ?? undefined,
    certificateFile: given.get('sslcert') ?? undefined,
    keyFile: given.get('sslkey') ?? undefined,
  }
}

/** The same address once for each of its hosts, which commas separate. Empty if it is none. */
function urlsOf(text: string): URL[] {
  const [, before = '', hosts = '', rest = ''] = /^(postgres(?:ql)?:\/\/(?:[^/]*@)?)([^/?#@]*)(.*)$/s.exec(text) ?? []
  // With the folder of a socket as a parameter, the place of the host may be empty, as for psql.
  const whole = hosts.split(',').map((host) => `${before}${host || 'localhost'}${rest}`)
  const isValid = before !== '' && whole.every((one) => URL.canParse(one) && new URL(one).hash === '')
  return isValid ? whole.map((one) => new URL(one)) : []
}

/** For messages and commands that people read: without the password. */
export function databaseUrlWithoutPassword(address: DatabaseAddress): string {
  const { user, hosts, database, tls, caFile } = address
  const socket = hosts.find(isSocket)
  const parameters = new URLSearchParams()
  if (socket) parameters.set('host', socket.host)
  else parameters.set('sslmode', tls)
  if (caFile !== undefined) parameters.set('sslrootcert', caFile)
  if (hosts.length > 1) parameters.set('target_session_attrs', 'read-write')
  const places = socket ? `localhost:${socket.port}` : hosts.map(placeOf).join(',')
  const name = `${encodeURIComponent(user)}@${places}/${encodeURIComponent(database)}`
  return `postgres://${name}?${decodeURIComponent(parameters.toString())}`
}

const isSocket = ({ host }: DatabaseHost): boolean => host.startsWith('/')
const placeOf = ({ host, port }: DatabaseHost): string => `${host.includes(':') ? `[${host}]` : host}:${port}`
const isHere = (place: DatabaseHost): boolean =>
  isSocket(place) || /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(place.host)

/** On another machine the certificate is checked, unless the address says otherwise. */
function tlsModeOf(given: string | null, hosts: readonly DatabaseHost[]): TlsMode {
  const mode = given ?? (hosts.every(isHere) ? 'disable' : 'verify-full')
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
