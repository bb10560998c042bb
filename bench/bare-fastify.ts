/** The peer: nothing but Fastify with one route that sends one object, as a process of its own. */
import { fastify } from 'fastify'

const [path = '/', body = '{}'] = process.argv.slice(2)
const object = JSON.parse(body)
const app = fastify()
app.get(path, (_request, reply) => reply.send(object))
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ event: 'ready', url })}\n`)
process.once('SIGTERM', () => app.close())
