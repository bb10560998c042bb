import content from '../../content.js'

export default function handler(request, response) {
  if (request.method === 'PUT') content.text = String(request.query.text)
  response.setHeader('Cache-Control', 'no-store')
  response.json(content)
}
