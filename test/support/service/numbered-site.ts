/** A site whose pages show the numbered text of a CMS (cms.ts), and the operations that could make them older. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { Cms } from './cms.ts'
import { deploy, type Files, untilDone } from './deploy.ts'
import { createEnvironment } from './environment.ts'
import type { Login, TestService } from './service.ts'

export type NumberedSite = Awaited<ReturnType<typeof deployNumberedSite>>

type Parts = { service: TestService; as: Login; cms: Cms; name: string; files: Files }

export async function deployNumberedSite({ service: first, as, cms, name, files }: Parts) {
  let service = first
  const given = { key: 'CMS_URL', value: cms.url }
  const body = { displayName: name, branch: 'uploadable', cmsEnvironment: 'cms', shellVariables: [given] }
  const { name: environment, url } = await createEnvironment(service, as, { body })
  const { host } = new URL(url)
  const done = await deploy(service, as, environment, files)
  const log = done.error ? await service.call(`/v1/${done.metadata.build}/log`, { as }) : undefined
  assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log?.text}`)
  const newest = new Map<string, number>()

  function ask(path: string, method = 'GET'): Promise<{ status: number; text: string; cache: string }> {
    const { hostname, port } = new URL(service.edge)
    return new Promise((resolve, reject) => {
      const call = request({ host: hostname, port, path, method, headers: { host }, agent: false }, async (answer) => {
        let text = ''
        for await (const chunk of answer.setEncoding('utf8')) text += chunk
        resolve({ status: answer.statusCode ?? 0, text, cache: String(answer.headers['cache-status']) })
      })
      call.on('error', reject).end()
    })
  }

  /** The number of the text that a page shows, which must never be lower than one that it has shown before. */
  async function shown(path: string): Promise<number> {
    const { status, text, cache } = await ask(path)
    const found = Number(/text-(\d+)-/.exec(text)?.[1])
    assert.equal(status, 200, `${path}: ${text.slice(0, 300)}`)
    const before = newest.get(path) ?? 0
    assert.ok(found >= before, `${path} shows text ${found} after it has shown text ${before} (${cache})`)
    newest.set(path, found)
    return found
  }

  async function operate(path: string, options: { method?: string; body?: unknown } = {}) {
    const asked = await service.call(`/v1/${path}`, { method: 'POST', as, ...options })
    assert.equal(asked.status, 200, asked.text)
    const { error } = await untilDone(service, as, asked.json.name)
    assert.equal(error, undefined, JSON.stringify(error))
  }

  return {
    environment,
    firstDeployment: String(done.metadata.deployment),
    shown,
    operate,

    async allShow(paths: readonly string[], number: number) {
      for (const path of paths) assert.equal(await shown(path), number, path)
    },

    async post(path: string) {
      const { status, text } = await ask(path, 'POST')
      assert.equal(status, 200, text)
    },

    setVariable: (value: string) =>
      operate(`${environment}?updateMask=shellVariables`, {
        method: 'PATCH',
        body: { shellVariables: [given, { key: 'ANYTHING', value }] },
      }),
    rebuild: () => operate(`${environment}:rebuild`, { body: {} }),
    activate: (deployment: string) => operate(`${deployment}:activate`),
    purge: (what: unknown = {}) => operate(`${environment}:clearCache`, { body: what }),

    /** From now on another process serves the site. */
    movedTo(other: TestService) {
      service = other
    },
  }
}
