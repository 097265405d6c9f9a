import { basename } from 'node:path'
import { z } from 'zod'

export const PROGRAM_OP_LIMITS = {
  /** The default and highest size of the output. */
  outputBytes: 1024 * 1024,
  mostOutputBytes: 16 * 1024 * 1024,
  /** The part of the error output that an agent is shown. */
  complaintCharacters: 2_000,
}

/** Programs that run other programs. */
const SHELLS =
  /^(?:sh|bash|zsh|dash|ash|ksh|csh|tcsh|fish|busybox|cmd|command|powershell|pwsh|env|sudo|doas|xargs|eval|nohup|nice|ionice|setsid|timeout|time|stdbuf|flock|watch|parallel|chroot|unshare|nsenter|script|strace)(?:\.exe|\.com)?$/i

/** Variables that make programs load other code. */
const LOADERS =
  /^(?:LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF)$/i

const template = z.string().max(8_000)
const variable = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable')
  .refine(name => !LOADERS.test(name), 'must not be one that makes programs load code')
  .refine(name => !/^QUARTERMASTER_/i.test(name), 'must not be one of the gateway itself')

const Argument = z.union(
  [
    template,
    z
      .array(template)
      .min(1)
      .max(50)
      .describe('Several that belong together: without a value for one, all are left out.'),
    z
      .strictObject({ when: z.string().min(1).max(64), args: z.array(template).min(1).max(50) })
      .describe('There only when this parameter is true.'),
  ],
  { error: 'must be a text, a list of texts, or { when: …, args: […] }' },
)

/** The settings of `op.program.run`, under `with` of a declaration. */
export const ProgramSettings = z.strictObject({
  program: z
    .string()
    .min(1)
    .max(1_000)
    .regex(/^[^\p{Cc}{}]+$/u, 'must be the name or the path of a program, without parameters')
    .refine(name => !/\.(?:cmd|bat)$/i.test(name), 'must be no file that only a shell can run')
    .refine(
      name => !SHELLS.test(basename(name.replaceAll('\\', '/'))),
      'must be the program itself, and nothing that runs others; put commands into a file of their own',
    )
    .describe('A name that is found on the PATH, or a path that counts from the project folder.'),
  args: z.array(Argument).max(100).default([]).describe('Each is one argument, whatever is in the values.'),
  cwd: z.string().min(1).max(1_000).default('.').describe('Where it runs; in the project folder.'),
  env: z.record(variable, template).default({}).describe('Variables for it, as `${secret:NAME}` or a text.'),
  passEnv: z.array(variable).max(50).default([]).describe("Variables of the gateway's own environment that it gets."),
  stdin: template.optional().describe('What it reads from its input; nothing when absent.'),
  output: z.enum(['text', 'json', 'lines']).default('text').describe('What is made of what it prints.'),
  okCodes: z
    .array(z.number().int().min(0).max(255))
    .min(1)
    .max(20)
    .default([0])
    .describe('Exit codes that are no failure.'),
  notPaths: z.array(z.string().min(1).max(64)).max(50).default([]).describe('Parameters whose values are no paths.'),
  maxBytes: z
    .number()
    .int()
    .min(1)
    .max(PROGRAM_OP_LIMITS.mostOutputBytes)
    .default(PROGRAM_OP_LIMITS.outputBytes)
    .describe('How much it may print.'),
})
export type ProgramSettings = z.infer<typeof ProgramSettings>
