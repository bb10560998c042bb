/** The types of the API client, from the OpenAPI document: a pure function, so that a test can compare its result with the files. */
import type { OpenApi, OpenApiOperation } from '../../src/api/docs/openapi.ts'
import { commentOf, fieldOf, type JsonSchema, nameOf, typeOf } from './schema-types.ts'

const HEAD = '/** Made by scripts/client.ts from the OpenAPI document of this version. Do not edit. */\n'

/** The text of each file by its name, before it is formatted. */
export function generate(document: OpenApi): Record<'resources.ts' | 'routes.ts', string> {
  const schemas = Object.entries(document.components.schemas)
    .map(([name, schema]): [string, JsonSchema] => [nameOf(name), schema])
    .toSorted(byName)
  const resources = schemas.map(([name, schema]) => `${commentOf(schema)}export type ${name} = ${typeOf(schema)}\n`)
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => routeOf(`${method.toUpperCase()} ${path}`, operation)),
  )
  const used = schemas.map(([name]) => name).filter((name) => new RegExp(`\\b${name}\\b`).test(routes.join('')))
  const reasons = new Set(
    Object.values(document.paths).flatMap((methods) => Object.values(methods).flatMap((one) => one['x-reasons'])),
  )
  return {
    'resources.ts': `${HEAD}\n${resources.join('\n')}`,
    'routes.ts': [
      HEAD,
      `import type { ${used.join(', ')} } from './resources.ts'\n`,
      '/** There is none. */\ntype Nothing = Record<never, never> | undefined\n',
      '/** What a request and its answer hold, by method and path. */',
      `export type Routes = {\n${routes.join('\n')}\n}`,
      '/** Those that answer with text. */',
      `export const TEXT_ROUTES: readonly string[] = ${JSON.stringify(textRoutes(document))}\n`,
      '/** The reasons that this version gives. A newer service may give others. */',
      `export type Reason = ${[...reasons]
        .sort()
        .map((reason) => `'${reason}'`)
        .join(' | ')}\n`,
    ].join('\n'),
  }
}

const textRoutes = ({ paths }: OpenApi): string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { responses }]) => replyOf(responses['200']?.content) === 'string')
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)

function routeOf(name: string, operation: OpenApiOperation): string {
  const { parameters, requestBody, responses, summary } = operation
  const within = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const fields = [
    `path: ${pathType(within('path'))}`,
    `query: ${parametersType(within('query'))}`,
    `body: ${bodyOf(requestBody)}`,
    `reply: ${replyOf(responses['200']?.content)}`,
    ...(requestBody?.content['multipart/form-data'] ? ['takesZip: true'] : []),
    ...(isFollowed(responses['200']?.content) ? ['streams: true'] : []),
  ]
  const who = operation['x-access'] === 'public' ? 'For everyone.' : `For: ${operation['x-access']}.`
  return `${commentOf({ description: `${summary}. ${who}` })}'${name}': { ${fields.join('\n')} }`
}

/** What each of them is, every page of the documentation says. */
const pathType = (parameters: OpenApiOperation['parameters']): string =>
  parameters.length === 0 ? 'Nothing' : `{ ${parameters.map(({ name }) => `${name}: string`).join('; ')} }`

/** `undefined` may be passed for what is optional: callers often have it in a variable. */
function parametersType(parameters: OpenApiOperation['parameters']): string {
  if (parameters.length === 0) return 'Nothing'
  const fields = parameters.map(({ name, required, description, schema }) => {
    const of = { ...(schema as JsonSchema), ...(description ? { description } : {}) }
    return fieldOf(String(name), of, required === true, required === true ? '' : ' | undefined')
  })
  return `{ ${fields.join('\n')} }`
}

function bodyOf(body: OpenApiOperation['requestBody']): string {
  const json = body?.content['application/json'] as { schema: JsonSchema } | undefined
  if (json === undefined) return 'Nothing'
  return body?.required ? typeOf(json.schema) : `${typeOf(json.schema)} | undefined`
}

/** Whether it has events beside what is there already, numbered, so that they can be resumed. */
const isFollowed = (content: JsonSchema | undefined): boolean =>
  content?.['text/event-stream'] !== undefined && Object.keys(content).length > 1

/** Without a body `void`; what is not JSON is text. A stream of events alone is no reply that ends. */
function replyOf(content: JsonSchema | undefined): string {
  const types = Object.keys(content ?? {})
  if (types.length === 0) return 'void'
  if (types.every((type) => type === 'text/event-stream')) return 'never'
  const json = content?.['application/json'] as { schema: JsonSchema } | undefined
  return json ? typeOf(json.schema) : 'string'
}
