import { AppError, isAttachmentId } from '../../contracts/index.ts'
import type { CallContext, Services } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { actorOf } from './actor.ts'
import { createFilesOpener } from './attached-files.ts'

/** Calls are tried again within minutes. */
const MOST_REMEMBERED = 200

/** The files of a message: by their ids, and as the agent has named them. */
export interface Attached {
  readonly attachments: readonly string[]
  readonly named: readonly string[]
}

/** Makes ids of what an agent names: what is a path is handed in, where paths mean something. Throws `INPUT_INVALID`. */
export type Attacher = (
  references: readonly string[] | undefined,
  context: CallContext,
) => Promise<Attached | undefined>

export function createAttacher({ paths, attachments }: Pick<Services, 'paths' | 'attachments'>): Attacher {
  const openFiles = createFilesOpener(paths)
  /** What calls have handed in, by the call and what it names: a new attempt means the same files. */
  const before = new Map<string, readonly string[]>()

  /** The ids of files by their paths. What is wrong with one is found before any of them is handed in. */
  async function handIn(wanted: readonly string[], context: CallContext): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>()
    const [first] = wanted
    if (first === undefined) return ids
    const desk = await attachments()
    const actor = actorOf(context)
    const folder = desk.folderOf(actor)
    if (folder === undefined) throw notHere(first)
    return openFiles({ folder, paths: wanted, maxBytes: desk.maxBytes }, async files => {
      for (const [i, file] of files.entries()) ids.set(wanted[i] ?? '', await desk.receive(actor, file))
      return ids
    })
  }

  async function idsOf(named: readonly string[], context: CallContext): Promise<readonly string[]> {
    const wanted = new Set(named.filter(reference => !isAttachmentId(reference)))
    const ids = await handIn([...wanted], context)
    return named.map(reference => ids.get(reference) ?? reference)
  }

  return async (named, context) => {
    if (named === undefined || named.length === 0) return undefined
    const key = JSON.stringify([context.idempotencyKey, named])
    const attachments = before.get(key) ?? (await idsOf(named, context))
    before.set(key, attachments)
    const [oldest] = before.size > MOST_REMEMBERED ? before.keys() : []
    if (oldest !== undefined) before.delete(oldest)
    return { attachments, named }
  }
}

/** What the tools say about the input. */
export const ATTACHMENTS_INPUT =
  'Files that go with it. Each is the id of an attachment that was uploaded before ("att_…") or, where your tools run beside you ' +
  '(quartermaster connect, or in your own process), the path of a file in your workspace folder. 25 MB per file unless set ' +
  'otherwise. All of them are sent, or nothing is.'

function notHere(path: string): AppError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path
  const message = `"${escapeLine(shown)}" is not the id of an attachment, and over HTTP nobody here can open a path of yours.`
  const next =
    'Upload the file to POST /api/v1/attachments and give its id ("att_…"), or connect with "quartermaster connect".'
  return new AppError('INPUT_INVALID', `${message} ${next} Nothing was sent.`)
}
