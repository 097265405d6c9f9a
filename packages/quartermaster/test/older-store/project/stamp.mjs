import { note } from './lib/words.js'

note(`stamp ${process.argv[2]}`)
