import { join } from 'node:path'
import {
  AngularNodeAppEngine,
  createNodeRequestHandler,
  isMainModule,
  writeResponseToNodeResponse,
} from '@angular/ssr/node'
import express from 'express'

const app = express()
const angular = new AngularNodeAppEngine()

app.get('/api/hello', (_request, response) => {
  response.json({ greeting: process.env.GREETING ?? 'Hello' })
})

app.use(express.static(join(import.meta.dirname, '../browser'), { index: false, redirect: false }))

app.use(async (request, response, next) => {
  const rendered = await angular.handle(request)
  if (rendered === null) return next()
  await writeResponseToNodeResponse(rendered, response)
})

if (isMainModule(import.meta.url)) app.listen(Number(process.env.PORT ?? 4000), process.env.HOST ?? '0.0.0.0')

/** For the server of `ng serve` and for the build, which renders pages ahead of time. */
export const reqHandler = createNodeRequestHandler(app)
