/** The generated files as they have to be: made from the routes in the source, formatted as all code is. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeApi } from '../../src/api/docs/openapi.ts'
import { createRoutes, type RouteParts } from '../../src/api/routes/index.ts'
import { generate } from './generate.ts'

const TOP = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(TOP, 'src/client/generated')
const BIOME = join(TOP, 'node_modules/.bin/biome')

export const generatedFiles = (): { file: string; text: string }[] =>
  Object.entries(generate(describeApi(createRoutes(ANY as RouteParts), 'https://headland.example.com'))).map(
    ([name, text]) => {
      const file = join(FOLDER, name)
      return { file, text: formatted(file, text) }
    },
  )

/** Routes are made without their parts being used, so any part does. */
const ANY: unknown = new Proxy(() => ANY, { get: () => ANY, apply: () => ANY })

const formatted = (file: string, text: string): string =>
  execFileSync(BIOME, ['format', `--stdin-file-path=${file}`], { cwd: TOP, input: text, encoding: 'utf8' })
