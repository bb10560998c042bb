/** Angular: all settings are in angular.json. A single-page app, or a server that renders it. */
import { posix } from 'node:path'
import { Problem } from '../../../contract/index.ts'
import { codeIn } from '../project/config-text.ts'
import type { Project } from '../project/project.ts'
import { flagIn, wordsAfter } from '../project/script-arguments.ts'
import { buildCommand, installedCommand, nodeCommand } from '../project/scripts.ts'
import { basePathOf, type Choice, type Framework, filesIn, folderInside, rangeOf } from './framework.ts'
import { serve } from './serve.ts'

const CONFIG = 'angular.json'

export const angular: Framework = {
  name: 'angular',
  reads: [CONFIG],

  choose(project) {
    const version = rangeOf(project, '@angular/core')
    const text = project.texts[CONFIG]
    if (version === undefined || text === undefined) return undefined
    const words = wordsAfter(project, 'ng build') ?? []
    const target = targetIn(text, words)
    const { output, because } = outputOf(project, target, words)
    return {
      version,
      because: [
        'package.json depends on @angular/core',
        `${CONFIG} builds ${target.name} with ${target.builder}`,
        ...because,
      ],
      build: buildCommand(project) ?? installedCommand(project, 'ng', 'build'),
      output,
      caches: { compile: ['.angular/cache'], data: [] },
      environment: { NG_CLI_ANALYTICS: 'false' },
    }
  },
}

type Json = Record<string, unknown>
type Target = { name: string; builder: string; options: Json }

/** The app that `ng build` would build, with the options of the configuration that it would use. */
function targetIn(text: string, words: readonly string[]): Target {
  const config = parse(text)
  const projects = objectIn(config.projects)
  const apps = Object.keys(projects).filter((name) => objectIn(projects[name]).projectType !== 'library')
  const wanted = [words.find((word) => apps.includes(word)), flagIn(words, '--project'), config.defaultProject]
  const name = [...wanted, ...apps].find((name) => typeof name === 'string' && apps.includes(name))
  if (typeof name !== 'string') throw new Problem('PLAN_FAILED', `${CONFIG} has no app among its projects.`)

  const app = objectIn(projects[name])
  const build = objectIn(objectIn(app.architect ?? app.targets).build)
  const configuration = flagIn(words, '--configuration', '-c') ?? build.defaultConfiguration ?? 'production'
  const chosen = String(configuration).split(',')
  const options = [build.options, ...chosen.map((each) => objectIn(build.configurations)[each])].map(objectIn)
  return { name, builder: textIn(build.builder) ?? 'no builder', options: Object.assign({}, ...options) }
}

/** Since version 17 the output has folders for browser and server; before, it is the browser's alone. */
const OLD_BUILDER = /:browser(?:-esbuild)?$/

function outputOf(
  project: Project,
  { name, builder, options }: Target,
  words: readonly string[],
): Pick<Choice, 'output' | 'because'> {
  const { outputPath } = options
  const written = flagIn(words, '--output-path') ?? textIn(outputPath) ?? textIn(objectIn(outputPath).base)
  const folder = folderInside(written ?? `dist/${name}`, CONFIG)
  const names = { browser: 'browser', server: 'server', ...objectIn(outputPath) }
  const inside = (name: unknown): string => folderInside(posix.join(folder, String(name)), CONFIG)
  const browser = OLD_BUILDER.test(builder) ? folder : inside(names.browser)
  const basePath = basePathOf(flagIn(words, '--base-href') ?? textIn(options.baseHref) ?? '')
  const hasServer = textIn(objectIn(options.ssr).entry) !== undefined && options.outputMode !== 'static'
  if (!hasServer || OLD_BUILDER.test(builder))
    return { output: filesIn(browser, { singlePage: true, basePath }), because: [] }

  const server = posix.join(inside(names.server), 'server.mjs')
  const hasExternals = Array.isArray(options.externalDependencies) && options.externalDependencies.length > 0
  return serve(project, {
    folder: hasExternals ? '.' : folder,
    start: hasExternals ? nodeCommand(project, server) : { argv: ['node', posix.relative(folder, server)] },
    isWritten: new RegExp(`^node (?:\\./)?${RegExp.escape(server)}$`),
    // Angular renders only for allowed hosts, and only if it trusts every header that a proxy sends. The edge has already
    // checked the host of a request.
    environment: {
      NG_ALLOWED_HOSTS: '*',
      NG_TRUST_PROXY_HEADERS: 'x-forwarded-for,x-forwarded-host,x-forwarded-proto',
    },
  })
}

/** The file may have comments. */
function parse(text: string): Json {
  for (const each of [text.replace(/^\uFEFF/, ''), codeIn(text)]) {
    try {
      return objectIn(JSON.parse(each))
    } catch {
      // Try the next form.
    }
  }
  throw new Problem('PLAN_FAILED', `${CONFIG} is not well-formed JSON.`)
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const objectIn = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
