import fastify from 'fastify'

const greeting = process.env.GREETING ?? 'Hello'
const app = fastify()

app.get('/', (_request, reply) => reply.type('text/html').send(`<h1>${greeting} from Fastify</h1>`))
app.get('/api/hello', () => ({ greeting }))
app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/html').send('<h1>No such page here</h1>'))

await app.listen({ port: Number(process.env.PORT ?? 3000), host: process.env.HOST })
process.on('SIGTERM', () => app.close())
