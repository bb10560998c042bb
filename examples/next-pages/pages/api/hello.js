export default function handler(_request, response) {
  response.json({ greeting: process.env.GREETING ?? 'Hello' })
}
