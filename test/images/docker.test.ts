/** The images of examples outside of Headland: pulled and run by a real Docker, they answer as the examples expect. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import type { resources } from '../../src/contract/index.ts'
import { NEEDS_REGISTRY, startRegistry } from '../support/images/registry.ts'
import { type DockerEngine, startDocker } from '../support/machine/docker-engine.ts'
import { isDockerThere } from '../support/machine/docker-packages.ts'
import { deployExample } from '../support/service/examples.ts'
import { startService } from '../support/service/service.ts'
import { until } from '../support/until.ts'

const isAble = process.getuid?.() === 0 && isDockerThere()
const skip =
  NEEDS_REGISTRY.skip || (isAble ? false : 'root on Debian does it: TEST_LONG=yes node test/prepare.ts unpacks Docker')

const registry = skip ? undefined : await startRegistry({ after })
const engine = skip ? ({} as DockerEngine) : await startDocker({ after })
const settings = { HEADLAND_REGISTRY: registry?.url ?? '' }
const service = skip ? undefined : await startService({ after }, { settings })
// Docker has a network of its own, and finds the same registry at the same address there.
if (registry) await startRegistry({ after }, { of: registry, inside: engine.inside })

async function ask(port: string, path: string): Promise<{ status: number; text: string }> {
  const [file = '', ...args] = [...engine.inside, 'curl', '--silent', '--max-time', '20']
  const url = `http://127.0.0.1:${port}${path}`
  const { stdout } = await promisify(execFile)(file, [...args, '--write-out', '\n%{http_code}', url])
  const end = stdout.lastIndexOf('\n')
  return { status: Number(stdout.slice(end + 1)), text: stdout.slice(0, end) }
}

/** A server without packages, one with packages, one that a package manager starts, one that writes files, and files. */
const PORTS = { 'node-server': '18001', express: '18002', 'pm-yarn-pnp': '18003', next: '18004', static: '18005' }

for (const [example, port] of Object.entries(PORTS))
  test(`the image of the example ${example} runs in Docker and answers as expected`, { skip }, async (t) => {
    assert.ok(service)
    const as = await service.login('developer')
    const { expected, deployment } = await deployExample(service, as, example)
    const read = async <T>(name: string): Promise<T> => (await service.call(`/v1/${name}`, { as })).json
    const { image = '' } = await read<resources.Build>((await read<resources.Deployment>(deployment)).build)
    const id = await engine.docker('run', '--detach', '--cap-drop', 'ALL', '--publish', `127.0.0.1:${port}:3000`, image)
    t.after(() => engine.docker('rm', '--force', id))
    const answers = async () => (await ask(port, '/').catch(() => ({ status: 0 }))).status > 0
    await until(answers, 'the container answers').catch(async (error) => {
      throw new Error(await engine.docker('logs', id), { cause: error })
    })
    // The address of a visitor is that of Docker's bridge here.
    const asked = expected.answers.filter(({ path }) => path !== '/api/visitor')
    for (const { path, status, contains } of asked) {
      const answer = await ask(port, path)
      assert.ok(answer.text.includes(contains), `${path} has no ${contains}: ${answer.text.slice(0, 500)}`)
      assert.equal(answer.status, status, path)
    }
    const [described] = JSON.parse(await engine.docker('image', 'inspect', image))
    assert.equal(described.Config.User, '10001:10001')
    assert.equal(described.Config.Labels['org.opencontainers.image.vendor'], 'Headland')
  })
