/** A curl command for a route, with a body made from the schema. */

import type { OpenApiOperation } from './openapi.ts'
import { type Components, resolve, type Shape } from './schema.ts'

/**
 * Example values by the name of the field. An optional field is in an example only if it has a value here, so an
 * example shows what people usually send.
 */
const TELLING: Record<string, unknown> = {
  appId: 'shop',
  displayName: 'Production',
  cmsEnvironment: 'my-wordpress',
  shellVariables: [{ key: 'GREETING', value: 'hello' }],
  role: 'developer',
  email: 'owner@localhost',
  password: 'the password',
}

const COOKIE_FILE = 'cookies.txt'
const LOG_IN_PATH = '/v1/session'

/** The variables that the examples expect in the shell. */
export const shellSettings = (baseUrl: string, paths: readonly string[]): string => {
  const known: Record<string, string> = { ACCOUNT: 'default', APP: 'shop' }
  const parameters = new Set(
    paths.flatMap((path) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => shellName(name))),
  )
  return [
    `export BASE_URL=${quoted(baseUrl)}`,
    "export API_USER_ID='…' API_PASSWORD='…'",
    ...[...parameters].map((name) => `export ${name}=${known[name] ?? "'…'"}`),
  ].join('\n')
}

export function curlOf(method: string, path: string, operation: OpenApiOperation, components: Components): string {
  const verb = method.toUpperCase()
  const start = `curl${verb === 'GET' ? '' : ` -X ${verb}`}${logInOf(operation, verb, path)}`
  const address = `"$BASE_URL${inShell(path)}${requiredQuery(operation, components)}"`
  return [...(start === 'curl' ? [`curl ${address}`] : [start, address]), ...bodyOf(operation, components)].join(
    ' \\\n  ',
  )
}

function logInOf({ 'x-access': access }: OpenApiOperation, verb: string, path: string): string {
  if (access === 'session') return ` -b ${COOKIE_FILE}`
  if (access !== 'public') return ' -u "$API_USER_ID:$API_PASSWORD"'
  return verb === 'POST' && path === LOG_IN_PATH ? ` -c ${COOKIE_FILE}` : ''
}

/** In braces before a colon, which some shells would read as a modifier. */
const inShell = (path: string): string =>
  path.replaceAll(/\{(\w+)\}(:?)/g, (_, name, colon) => (colon ? `\${${shellName(name)}}:` : `$${shellName(name)}`))

const shellName = (parameter = ''): string => parameter.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()

function requiredQuery({ parameters }: OpenApiOperation, components: Components): string {
  const wanted = (parameters as { name: string; in: string; required: boolean; schema: Shape }[])
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleOf(schema, components, name)))}`)
  return wanted.length > 0 ? `?${wanted.join('&')}` : ''
}

function bodyOf({ requestBody }: OpenApiOperation, components: Components): string[] {
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (mediaType === undefined) return []
  const { shape } = resolve((content as { schema: Shape }).schema, components)
  if (mediaType === 'multipart/form-data') return Object.entries(shape.properties ?? {}).map(formPart)
  const type = `-H ${quoted(`content-type: ${mediaType}`)}`
  if (mediaType !== 'application/json') return [type, '--data-binary @FILE']
  const telling = objectExample(shape, components)
  if (Object.keys(telling).length === 0 && !requestBody?.required) return []
  return [type, `-d ${quoted(JSON.stringify(telling, null, 2).replaceAll('\n', '\n  '))}`]
}

function formPart([name, { contentMediaType }]: [string, Shape]): string {
  const value = contentMediaType ? `@file.${contentMediaType.split('/').at(-1)};type=${contentMediaType}` : 'text'
  return `-F ${quoted(`${name}=${value}`)}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

export function exampleOf(of: Shape, components: Components, field = ''): unknown {
  const { shape } = resolve(of, components)
  const telling = TELLING[field]
  if (shape.examples) return shape.examples[0]
  if (shape.enum) return shape.enum.includes(telling) ? telling : shape.enum[0]
  switch (shape.type) {
    case 'object':
      return objectExample(shape, components)
    case 'array':
      return Array.isArray(telling) ? telling : [exampleOf(shape.items ?? {}, components)]
    case 'number':
    case 'integer':
      return shape.minimum || 1
    case 'boolean':
      return true
    default:
      return typeof telling === 'string' ? telling : 'text'
  }
}

function objectExample({ properties = {}, required = [] }: Shape, components: Components): Record<string, unknown> {
  const shown = Object.entries(properties).filter(([name]) => required.includes(name) || Object.hasOwn(TELLING, name))
  return Object.fromEntries(shown.map(([name, shape]) => [name, exampleOf(shape, components, name)]))
}
