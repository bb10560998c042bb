/** SolidStart: a server in a folder of its own. Version 1 is configured for Vinxi, version 2 in the plugins of Vite. */
import { buildCommand, installedCommand } from '../scripts.ts'
import { basePathOf, type Framework, namesWith, rangeOf } from './framework.ts'
import { nitroOutput } from './nitro.ts'
import { readSaid } from './said.ts'

const APP_CONFIGS = namesWith('app.config', ['ts', 'js', 'mjs', 'mts'])
const VITE_CONFIGS = namesWith('vite.config', ['ts', 'js', 'mjs', 'mts'])

export const solidStart: Framework = {
  name: 'solid-start',
  reads: [...APP_CONFIGS, ...VITE_CONFIGS],

  choose(project) {
    const version = rangeOf(project, '@solidjs/start')
    if (version === undefined) return undefined
    const isOnVinxi = rangeOf(project, 'vinxi') !== undefined
    const said = readSaid(project, isOnVinxi ? APP_CONFIGS : VITE_CONFIGS, isOnVinxi ? 'vinxi build' : 'vite build')
    const string = (...settings: string[]): string | undefined =>
      settings.map((setting) => said.string(setting)).find((value) => value !== undefined)
    const flag = isOnVinxi ? said.string('server.preset', '--preset') : undefined
    const { output, because } = nitroOutput(project, {
      name: 'SolidStart',
      preset: flag ?? string('nitro.preset', 'plugins.preset'),
      folder: undefined,
      basePath: basePathOf(string('server.baseURL', 'nitro.baseURL', 'plugins.baseURL') ?? ''),
      isGenerated: false,
      singlePage: (said.boolean('ssr') ?? said.boolean('plugins.ssr')) === false,
    })
    return {
      version,
      because: ['package.json depends on @solidjs/start', ...said.because, ...because],
      build: buildCommand(project) ?? installedCommand(project, isOnVinxi ? 'vinxi' : 'vite', 'build'),
      output,
      caches: { compile: ['.vinxi', 'node_modules/.vite', 'node_modules/.cache'], data: ['.data', '.nitro'] },
    }
  },
}
