/** SolidStart: a server in a folder of its own. Version 1 is configured for Vinxi, version 2 in the plugins of Vite. */
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { readConfigFile } from './config.ts'
import { basePathOf, type Framework, firstDependencyOf, namesWith, rangeOf } from './framework.ts'
import { nitroOutput, presetInScript, presetVariables } from './nitro.ts'

const APP_CONFIGS = namesWith('app.config', ['ts', 'js', 'mjs', 'mts'])
const VITE_CONFIGS = namesWith('vite.config', ['ts', 'js', 'mjs', 'mts'])

/** Packages whose plugin for Vite takes the preset among its options. */
const NITRO_PLUGINS = ['nitro', '@solidjs/vite-plugin-nitro-2']

export const solidStart: Framework = {
  name: 'solid-start',
  reads: [...APP_CONFIGS, ...VITE_CONFIGS],

  choose(project) {
    const version = rangeOf(project, '@solidjs/start')
    if (version === undefined) return undefined
    const isOnVinxi = rangeOf(project, 'vinxi') !== undefined
    const config = readConfigFile(
      project,
      isOnVinxi ? APP_CONFIGS : VITE_CONFIGS,
      isOnVinxi ? 'vinxi build' : 'vite build',
    )
    const string = (...settings: string[]): string | undefined =>
      settings.map((setting) => config.string(setting)).find((value) => value !== undefined)
    const flag = isOnVinxi ? (presetInScript(project) ?? config.string('server.preset', '--preset')) : undefined
    const { because, ...result } = nitroOutput(project, {
      name: 'SolidStart',
      preset: flag ?? string('nitro.preset', 'plugins.preset'),
      isInScript: isOnVinxi && (presetInScript(project) !== undefined || config.hasFlag('--preset')),
      plugin: isOnVinxi ? undefined : (firstDependencyOf(project, NITRO_PLUGINS) ?? 'nitro'),
      folder: undefined,
      basePath: basePathOf(string('server.baseURL', 'nitro.baseURL', 'plugins.baseURL') ?? ''),
      isGenerated: false,
      singlePage: (config.boolean('ssr') ?? config.boolean('plugins.ssr')) === false,
    })
    return {
      version,
      because: ['package.json depends on @solidjs/start', ...config.because, ...because],
      build: buildCommand(project) ?? installedCommand(project, isOnVinxi ? 'vinxi' : 'vite', 'build'),
      ...result,
      environment: presetVariables(result.output, isOnVinxi && config.isComputed('server.preset')),
      caches: { compile: ['.vinxi', 'node_modules/.vite', 'node_modules/.cache'], data: ['.data', '.nitro'] },
    }
  },
}
