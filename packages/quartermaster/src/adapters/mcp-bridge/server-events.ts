/**
 * The data of each event of a stream, as HTML's "Server-sent events" has them: lines that begin with `data:` up to an
 * empty line. Ids, names and comments mean nothing here.
 */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const chunk of body) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const ended of lines) {
      const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      if (line !== '' || data.length === 0) continue
      yield data.join('\n')
      data = []
    }
  }
}
