// Where the executable begins.
import './arguments.mjs'
import 'latchkey-main'
