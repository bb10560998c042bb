/** The peer: nothing but Fastify with one route that takes a POST and sends one text, as a process of its own. */
import { fastify } from 'fastify'

const [path = '/', text = '{}'] = process.argv.slice(2)
const app = fastify()
app.post(path, (_request, reply) => reply.type('application/json; charset=utf-8').send(text))
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ event: 'ready', url })}\n`)
process.once('SIGTERM', () => app.close())
