/** Traps that need a real framework, or much disk space. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import type { resources } from '../../src/contract/index.ts'
import { type Scope, temporaryFolder } from '../support/folder.ts'
import { rounds } from '../support/long.ts'
import { deploy, type Files, filesIn, untilDone } from '../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../support/service/environment.ts'
import { EXAMPLES, type Place } from '../support/service/examples.ts'

const FILE_BYTES = 2 * 1024 * 1024
const FILES = rounds({ short: 100, long: 1000 })

export function frameworkTrapsSuite(file: Scope, place: Place) {
  describe('traps of frameworks', () => {
    async function deployed(files: Files) {
      const { service, as } = place
      const { name, url } = await createEnvironment(service, as)
      return { name, url, ...(await look(await deploy(service, as, name, files))) }
    }

    async function look(done: resources.Operation): Promise<{ build: resources.Build; log: string }> {
      const { service, as } = place
      const log = (await service.call(`/v1/${done.metadata.build}/log`, { as })).text
      return { build: (await service.call(`/v1/${done.metadata.build}`, { as })).json, log }
    }

    test('a font that cannot be fetched from Google is DOWNLOAD_FAILED, and says what to do', async () => {
      const files = await filesIn(join(EXAMPLES, 'next'))
      const layout = `import { Inter } from 'next/font/google'
    const inter = Inter({ subsets: ['latin'] })
    export default function Layout({ children }) {
      return <html lang="en" className={inter.className}><body>{children}</body></html>
    }`
      const { build, log } = await deployed({ ...files, 'app/layout.js': layout })
      // This machine may be able to reach Google.
      if (build.state === 'SUCCEEDED') return
      assert.equal(build.failure?.reason, 'DOWNLOAD_FAILED', log)
      assert.match(build.failure?.message ?? '', /next\/font\/local/)
    })

    test('a native package that is not for this platform is NATIVE_PACKAGE_MISSING, and named', async () => {
      const files = await filesIn(join(EXAMPLES, 'vite'))
      const lock = JSON.parse(String(files['package-lock.json']))
      const native = new RegExp(`^node_modules/@rolldown/binding-linux-${process.arch}-`)
      for (const path of Object.keys(lock.packages)) if (native.test(path)) delete lock.packages[path]
      for (const name of Object.keys(lock.packages['node_modules/rolldown'].optionalDependencies)) {
        if (native.test(`node_modules/${name}`))
          delete lock.packages['node_modules/rolldown'].optionalDependencies[name]
      }
      const { build, log } = await deployed({ ...files, 'package-lock.json': JSON.stringify(lock) })
      assert.equal(build.failure?.reason, 'NATIVE_PACKAGE_MISSING', log)
      assert.match(build.failure?.message ?? '', new RegExp(`@rolldown/binding-linux-${process.arch}`))
    })

    test('a site of Next.js 13 with pages alone is built and runs on Node 16, and is warned', async () => {
      const dependencies = { next: '13.5.11', react: '18.2.0', 'react-dom': '18.2.0' }
      const { url, build, log } = await deployed({
        'package.json': JSON.stringify({ scripts: { build: 'INIT_CWD=$PWD next build' }, dependencies }),
        '.nvmrc': '16',
        'pages/index.js': `export default ({ node, folder }) => <p>{node + ' in ' + folder}</p>
      export const getServerSideProps = () => ({ props: { node: process.version, folder: process.env.PWD } })`,
      })
      assert.equal(build.state, 'SUCCEEDED', log)
      assert.match((await siteAnswer(place.service, url)).text, /<p>v16\.\d+\.\d+ in \/app<\/p>/)
      assert.match(build.warnings.join(), /^Node 16\.\S+ no longer gets security fixes/)
    })

    test(`${(FILES * FILE_BYTES) / 1024 ** 2} MB of packages are installed once, and attached to the next build without a copy`, async () => {
      const folder = await temporaryFolder(file)
      const filling = join(folder, 'package')
      await mkdir(filling)
      await writeFile(join(filling, 'package.json'), JSON.stringify({ name: 'filling', version: '1.0.0' }))
      const content = Buffer.alloc(FILE_BYTES)
      for (let count = 0; count < FILES; count++) await writeFile(join(filling, `${count}.bin`), content)
      await promisify(execFile)('tar', ['-czf', join(folder, 'filling.tgz'), '-C', folder, 'package'])
      await rm(filling, { recursive: true })
      const about = { name: 'heavy', version: '1.0.0', dependencies: { filling: 'file:filling.tgz' } }
      const server = `require('node:http').createServer((_, response) => response.end(String(require('node:fs').statSync('node_modules/filling/${FILES - 1}.bin').size)))
    .listen(process.env.PORT, process.env.HOST)`
      const { name, url, build, log } = await deployed({
        'package.json': JSON.stringify({ ...about, scripts: { start: 'node server.js' } }),
        'package-lock.json': JSON.stringify({
          ...{ name: 'heavy', version: '1.0.0', lockfileVersion: 3, requires: true },
          packages: { '': about, 'node_modules/filling': { version: '1.0.0', resolved: 'file:filling.tgz' } },
        }),
        'filling.tgz': await readFile(join(folder, 'filling.tgz')),
        'server.js': server,
      })
      assert.equal(build.state, 'SUCCEEDED', log)
      const { service, as } = place
      const asked = await service.call(`/v1/${name}:rebuild`, { method: 'POST', as, body: {} })
      const again = await look(await untilDone(service, as, asked.json.name))
      assert.equal(again.build.caches.find(({ cache }) => cache === 'packages')?.state, 'HIT', again.log)
      assert.equal((await siteAnswer(place.service, url)).text, String(FILE_BYTES))
    })
  })
}
