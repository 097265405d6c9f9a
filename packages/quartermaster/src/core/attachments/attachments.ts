import type { AttachmentFacts } from '../../contracts/index.ts'
import { attachmentFacts } from './attachment-facts.ts'
import { createIntake, type Intake, type IntakeDeps } from './intake.ts'
import { createOutlet, type Outlet } from './outlet.ts'
import type { AttachmentReader } from './ports.ts'
import { type AttachmentUses, createUses } from './uses.ts'

/** Files that people and workspaces hand in, kept in the store by what they contain. */
export interface Attachments extends AttachmentUses {
  readonly receive: Intake
  factsOf(reader: AttachmentReader, id: string): Promise<AttachmentFacts>
  readonly open: Outlet['open']
}

export function createAttachments(deps: IntakeDeps): Attachments {
  const outlet = createOutlet(deps)
  return {
    ...createUses({ ...deps, outlet }),
    receive: createIntake(deps),
    factsOf: async (reader, id) => attachmentFacts(await outlet.find(reader, id)),
    open: outlet.open,
  }
}
