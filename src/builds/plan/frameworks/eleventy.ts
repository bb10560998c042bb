/** Eleventy: files, and nothing about them is certain but where they are. */
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
      // What its fetch plugin got from a CMS, and would give again until it is old.
      caches: { compile: [], data: ['.cache'] },
    }
  },
}

/** The other way to say it. */
function calledFolder({ code, path = '' }: ConfigFile): string | undefined {
  const [, folder] = /\.setOutputDirectory\(\s{0,9}['"`]([^'"`$\n]{1,199})['"`]/.exec(code) ?? []
  return folder === undefined ? undefined : folderInside(folder, path)
}
