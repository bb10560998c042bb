import { resources } from '../../../contract/index.ts'
import type { Examples } from '../../../examples/index.ts'
import { listOf, type Route, route } from '../../route.ts'

const tag = 'Examples'

export const exampleRoutes = ({ examples }: { examples: Examples }): Route[] => [
  route({
    method: 'GET',
    path: '/v1/examples',
    tag,
    summary: 'List the examples that come with the service; the first one is meant for a first look',
    access: 'known',
    reply: listOf('examples', resources.example),
    handle: async () => ({ examples: await examples.list(), nextPageToken: '' }),
  }),
  route({
    method: 'GET',
    path: '/v1/examples/{example}.zip',
    tag,
    summary: 'Read the archive of an example, to upload it',
    access: 'known',
    reply: { mediaType: 'application/zip' },
    problems: ['EXAMPLE_NOT_FOUND'],
    async handle({ params, reply }) {
      const zip = await examples.archive(params.example)
      reply.type('application/zip')
      reply.header('content-disposition', `attachment; filename="${params.example}.zip"`)
      return zip
    },
  }),
]
