/** Uploads archives over HTTP and follows their operations. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { resources } from '../../../src/contract/index.ts'
import { type ZipContent, zipOf } from '../zip.ts'
import type { Api, ApiResponse, Login } from './service.ts'

export type Files = Record<string, ZipContent>

export function formOf(files: Files | Buffer): FormData {
  const form = new FormData()
  const zip = Buffer.isBuffer(files) ? files : zipOf(files)
  form.append('repository', new Blob([new Uint8Array(zip)], { type: 'application/zip' }), 'app.zip')
  return form
}

export const upload = (service: Api, as: Login, environment: string, files: Files | Buffer) =>
  uploadWithQuery(service, as, { environment, query: '' }, files)

export function uploadWithQuery(
  service: Api,
  as: Login,
  { environment, query }: { environment: string; query: string },
  files: Files | Buffer,
): Promise<ApiResponse> {
  return service.call(`/fu/v1/${environment}:upload${query}`, { method: 'POST', as, body: formOf(files) })
}

export async function untilDone(service: Api, as: Login, operation: string): Promise<resources.Operation> {
  for (let tries = 0; tries < 20; tries++) {
    const { json } = await service.call(`/v1/${operation}:wait?timeout=60s`, { method: 'POST', as })
    if (json.done) return json
  }
  throw new Error(`${operation} is not done after 20 minutes`)
}

/** Uploads and waits for the end, good or bad. */
export async function deploy(
  service: Api,
  as: Login,
  environment: string,
  files: Files | Buffer,
): Promise<resources.Operation> {
  const asked = await upload(service, as, environment, files)
  assert.equal(asked.status, 200, asked.text)
  return untilDone(service, as, asked.json.name)
}

/** The reason that an operation's error gives. */
export const reasonOf = ({ error }: resources.Operation): unknown => error?.details[0]?.reason

/** A server without dependencies, whose response names its version. */
export const nodeServer = (version: string, more = ''): Record<string, string> => ({
  'package.json': JSON.stringify({ scripts: { start: 'node server.js' } }),
  'server.js': `
    const http = require('node:http')
    const server = http.createServer((request, response) => {
      ${more}
      response.end(${JSON.stringify(version)})
    })
    server.listen(process.env.PORT, process.env.HOST)
    process.on('SIGTERM', () => server.close(() => process.exit()))
  `,
})

export const page = (text: string): Record<string, string> => ({
  'index.html': `<!doctype html><title>x</title><p>${text}</p>`,
})

/** The files of a folder, without those that are never uploaded. */
export async function filesIn(folder: string): Promise<Files> {
  const files: Files = {}
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1)
    if (!entry.isFile() || /(^|\/)(node_modules|\.next|dist)\//.test(path) || path === 'expect.json') continue
    files[path] = await readFile(join(folder, path))
  }
  return files
}
