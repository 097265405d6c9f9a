import { z } from 'zod'
import { type CallContext, defineTool, type ScopedCall, toolResult } from '../../core/catalogue/index.ts'
import { sizeText } from '../shared/text.ts'
import { writeAtomically } from '../shared/walls/place.ts'
import { answering, errnoOf, Refusal } from '../shared/walls/refusal.ts'
import type { Walls } from '../shared/walls/sandbox.ts'
import { FILES_WORDS, type FilesConfig } from './config.ts'

const Input = z.strictObject({
  path: z.string().min(1).max(4096).describe('The file to write, as list_files would show it.'),
  content: z.string().describe('The whole content of the file, as text or in base64.'),
  encoding: z
    .enum(['utf8', 'base64'])
    .default('utf8')
    .describe('How content is given: "utf8" for text, "base64" for bytes.'),
  mode: z
    .enum(['overwrite', 'create'])
    .default('overwrite')
    .describe('"overwrite" replaces a file that is there; "create" fails when anything is there.'),
  createFolders: z.boolean().default(false).describe('Create missing folders of the path.'),
})

const Output = z.object({
  path: z.string(),
  size: z.number().int().describe('Bytes written.'),
  created: z.boolean().describe('Whether the file is new.'),
})

/** The tool that puts a whole file into an allowed folder. */
export function createWriteFile(walls: Walls) {
  return defineTool({
    name: 'write_file',
    title: 'Write a file',
    short: 'Writes a whole file in the folders you were given, replacing it in one step.',
    whenToUse:
      'To save text or bytes under a path. The content given becomes the whole file; ' +
      'readers see the old file or the new one, never a part. ' +
      'Answers the path, the size and whether the file is new. ' +
      'It does not append, edit in place, delete or change permissions: read the file first and give back all of it.',
    section: 'files',
    command: { name: 'write-file' },
    input: Input,
    output: Output,
    examples: [
      { query: 'save these notes', input: { path: 'notes/today.md', content: '# Today\n', createFolders: true } },
      {
        query: 'start a new file, but keep one that is there',
        input: { path: 'todo.md', content: '- \n', mode: 'create' },
      },
    ],
    mutates: true,
    idempotent: true,
    consent: ['files.write'],
    handler: (input, context: CallContext<FilesConfig>) =>
      answering(input.path, () => write(input, context, walls), FILES_WORDS),
  })
}

/** The consent scope of a call: the real path of the file, the same for every spelling. */
export function writtenFile(walls: Walls) {
  return ({ input, config }: ScopedCall): Promise<string> =>
    walls.enter(config as FilesConfig, sandbox => sandbox.locate((input as z.input<typeof Input>).path))
}

async function write(input: z.infer<typeof Input>, context: CallContext<FilesConfig>, walls: Walls) {
  const { config, signal } = context
  const data = decode(input)
  if (data.length > config.maxFileBytes) {
    throw new Refusal(
      `The content has ${sizeText(data.length)}; a file may have ${sizeText(config.maxFileBytes)}. ` +
        'Write several files.',
    )
  }
  signal.throwIfAborted()
  return walls.enter(config, async sandbox => {
    const place = await sandbox.place(input.path, { createFolders: input.createFolders })
    const replace = input.mode === 'overwrite'
    if (place.existing && !replace) throw taken(place.display)
    await writeAtomically({ place, data, replace, walker: sandbox.walker, signal }).catch((error: unknown) => {
      throw errnoOf(error) === 'EEXIST' ? taken(place.display) : error
    })
    return written({ path: place.display, size: data.length, created: place.existing === undefined })
  })
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

function decode({ content, encoding }: z.infer<typeof Input>): Uint8Array {
  if (encoding === 'base64') {
    const bare = content.replace(/\s/g, '')
    // Buffer skips characters that are not base64, which would leave holes in the file.
    if (!BASE64.test(bare) || bare.length % 4 === 1) throw new Refusal('The content is not valid base64.')
    return Buffer.from(bare, 'base64')
  }
  if (/\p{Cs}/u.test(content))
    throw new Refusal('The content has half a surrogate pair, which is no text; use base64 for bytes.')
  return Buffer.from(content, 'utf8')
}

function taken(path: string): Refusal {
  return new Refusal(`"${path}" exists already and was left alone. Choose another name, or set mode to "overwrite".`)
}

function written(output: z.infer<typeof Output>) {
  const text = `${output.created ? 'Wrote the new file' : 'Replaced'} "${output.path}": ${sizeText(output.size)}.`
  return toolResult({ content: [{ type: 'text', text }], structuredContent: output })
}
