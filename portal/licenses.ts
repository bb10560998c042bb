/**
 * Puts `licenses.json` into a build of the portal: each package whose code is in it, with its licence. Who gets the code has to
 * get these, and the package of Headland is described by them (`scripts/release/`).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

export type License = { name: string; version: string; license: string; text: string }

/** A plugin for the pages, and one for the workers, which are builds of their own and are over before that of the pages. */
export function listLicenses(): { pages: Plugin; workers: Plugin } {
  const folders = new Set<string>()
  const see: Plugin['generateBundle'] = (_, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk') continue
      for (const id of file.moduleIds) {
        const folder = packageOf(id)
        if (folder !== undefined) folders.add(folder)
      }
    }
  }
  return {
    workers: { name: 'see-licenses', generateBundle: see },
    pages: {
      name: 'list-licenses',
      generateBundle(...given) {
        see.apply(this, given)
        const licenses = [...folders].map(licenseOf).sort((a, b) => (a.name < b.name ? -1 : 1))
        this.emitFile({ type: 'asset', fileName: 'licenses.json', source: `${JSON.stringify(licenses, null, 2)}\n` })
      },
    },
  }
}

/** Vite's licence goes on with those of what Vite is made of, and the portal has nothing of that. */
const NOT_OF_ITSELF = /^# Licenses of bundled dependencies[\s\S]*/m

/** The folder of the package that a module is from. What the bundler and Vite add by themselves is theirs. */
function packageOf(id: string): string | undefined {
  const own = /^\0(vite|rolldown)\//.exec(id)?.[1]
  if (own !== undefined) return dirname(createRequire(import.meta.url).resolve(`${own}/package.json`))
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]
}

function licenseOf(folder: string): License {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  const text = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').replace(NOT_OF_ITSELF, '').trim())
  return { name, version, license, text: text.join('\n\n') }
}
