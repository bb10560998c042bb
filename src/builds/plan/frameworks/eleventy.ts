/** Eleventy: files. */
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { type ConfigFile, readConfigFile } from './config.ts'
import { basePathOf, type Framework, filesIn, folderInside, rangeOf } from './framework.ts'

export const eleventy: Framework = {
  name: 'eleventy',
  reads: ['.eleventy.js', 'eleventy.config.js', 'eleventy.config.mjs', 'eleventy.config.cjs'],

  choose(project) {
    const version = rangeOf(project, '@11ty/eleventy')
    if (version === undefined) return undefined
    const config = readConfigFile(project, eleventy.reads, 'eleventy')
    const folder = config.folder('dir.output', '--output') ?? calledFolder(config) ?? '_site'
    const basePath = basePathOf(config.string('pathPrefix', '--pathprefix') ?? '')
    return {
      version,
      because: ['package.json depends on @11ty/eleventy', ...config.because],
      build: buildCommand(project) ?? installedCommand(project, 'eleventy'),
      output: filesIn(folder, { basePath }),
      // The fetch plugin caches responses of a CMS here.
      caches: { compile: [], data: ['.cache'] },
    }
  },
}

/** The folder that is set by a call instead of a setting. */
function calledFolder({ code, path = '' }: ConfigFile): string | undefined {
  const [, folder] = /\.setOutputDirectory\(\s{0,9}['"`]([^'"`$\n]{1,199})['"`]/.exec(code) ?? []
  return folder === undefined ? undefined : folderInside(folder, path)
}
